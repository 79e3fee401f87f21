package import CloakroomHTTP
import CloakroomJSON
import CloakroomWire

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Something that happened to a user or to the user's objects, for programs that want to know.
package struct Event: Sendable, Equatable {
    /// Indirect, for each response has room for one and hardly any has one.
    package indirect enum Kind: Sendable, Equatable {
        /// A multipart upload is an object now.
        case uploadCompleted(objectKey: String)
        /// S3 confirmed a copy of each.
        case assetsRenewed(objectKeys: [String])
        /// - Parameter reason: for people.
        case userDisabled(reason: String)
        /// - Parameter before: what was issued before that time is refused.
        case userRevoked(before: Date)
        /// With an identity token; a session that is continued is none.
        case userSignedIn(deviceID: String?)
    }

    /// 32 hexadecimal digits that no other event has.
    package let id: String
    package let kind: Kind
    /// As the audit has it.
    package let user: String
    package let time: Date
    package let request: RequestID?
    package let trace: TraceContext?

    /// - Parameter request: `nil` for a command.
    package init(id: String, _ kind: Kind, user: String, time: Date, by request: Request? = nil) {
        self.id = id
        self.kind = kind
        self.user = user
        self.time = time
        self.request = request?.id
        trace = request?.trace
    }

    /// One JSON object, as the stream keeps it and the webhook gets it.
    package var text: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", id)
        writer.member("type", kind.type.rawValue)
        writer.member("time", time)
        writer.member("user", user)
        if let request { writer.member("request", request.description) }
        if let trace {
            writer.plainName("trace")
            writer.plainString(count: 32) {
                $0.append(hexadecimal: trace.high)
                $0.append(hexadecimal: trace.low)
            }
        }
        switch kind {
        case .uploadCompleted(let key): Self.write([key], to: &writer)
        case .assetsRenewed(let keys): Self.write(keys, to: &writer)
        case .userDisabled(let reason): writer.member("reason", reason)
        case .userRevoked(let time): writer.member("before", time)
        case .userSignedIn(let device): if let device { writer.member("device", device) }
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ keys: [String], to writer: inout JSONWriter) {
        writer.plainName("keys")
        writer.beginArray()
        for key in keys { writer.string(key) }
        writer.endArray()
    }
}

/// What an event is, in its JSON and in the metrics.
package enum EventType: String, Sendable, MetricLabel {
    case uploadCompleted = "upload.completed"
    case assetsRenewed = "asset.renewed"
    case userDisabled = "user.disabled"
    case userRevoked = "user.revoked"
    case userSignedIn = "user.signed_in"

    static let name = "type"
}

extension Event.Kind {
    package var type: EventType {
        switch self {
        case .uploadCompleted: .uploadCompleted
        case .assetsRenewed: .assetsRenewed
        case .userDisabled: .userDisabled
        case .userRevoked: .userRevoked
        case .userSignedIn: .userSignedIn
        }
    }
}

/// Names for the events of one process: a random number of its own, and a counter.
package struct EventIDs: Sendable {
    private let process: UInt64
    private var last: UInt64

    package init(randomNumber: () -> UInt64 = { UInt64.random(in: .min ... .max) }) {
        process = randomNumber()
        last = randomNumber()
    }

    package mutating func next() -> String {
        last &+= 1
        return RequestID(process).description + RequestID(last).description
    }
}
