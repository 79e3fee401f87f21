import CloakroomWire
package import Loop
import StrictJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The record of what was issued, to whom. A line is written before what it speaks of leaves the worker.
@LoopActor
package final class AuditLog {
    private let sink: LineSink
    private var clock: ClockText

    package init(sink: LineSink, now: @escaping @Sendable () -> Date = { Date() }) {
        self.sink = sink
        clock = ClockText(now: now)
    }

    /// What was issued.
    package struct Issue: Sendable, Equatable {
        package enum Kind: String, Sendable {
            case credentials
            case upload
        }

        package let kind: Kind
        package let subject: Subject
        /// The vended access key, which S3's own logs show, or the object key of an upload.
        package let key: String
        package let expiration: Date
        package var session: String?
        /// By which it was issued.
        package var tier: String?
    }

    /// - Returns: whether the line has been written; if not, nothing may be issued.
    package func record(_ issue: Issue) async -> Bool {
        await sink.write(Self.line(issue, at: clock.text))
    }

    static func line(_ issue: Issue, at time: String) -> [UInt8] {
        var writer = JSONWriter(capacity: 384)
        writer.beginObject()
        func member(_ name: StaticString, _ value: String?) {
            guard let value else { return }
            writer.plainName(name)
            writer.string(value)
        }
        member("time", time)
        writer.plainName("audit")
        writer.plainString("issued")
        member("kind", issue.kind.rawValue)
        member("user", issue.subject.userID.text)
        member("device", issue.subject.deviceID)
        member("tier", issue.tier)
        member("issuer", issue.subject.issuer)
        member("key", issue.key)
        member("session", issue.session)
        member("expiration", issue.expiration.wireText)
        writer.endObject()
        return writer.bytes
    }
}
