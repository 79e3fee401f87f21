package import CloakroomHTTP
import CloakroomJSON
import CloakroomWire

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AuditLog {
    /// What was issued, to whom.
    package struct Issuance: Sendable, Equatable {
        package enum Kind: Sendable, Equatable {
            case credentials(AuditedCredentials)
            case upload(objectKey: String, until: Date)
            /// A token of our own, by its `jti`.
            case session(id: String, until: Date)
            /// Images of chats that are to be deleted: written before anything is sent.
            case release(objectKeys: [String])
        }

        package let kind: Kind
        package let subject: Subject
        package let tier: String?
        package let request: RequestID?
        package let trace: TraceContext?
        /// The client as nginx saw it.
        package let address: String?

        package init(_ kind: Kind, to subject: Subject, tier: String?, by request: Request) {
            self.kind = kind
            self.subject = subject
            self.tier = tier
            self.request = request.id
            trace = request.trace
            address = request.peerAddress.flatMap { Self.isAddress($0) ? $0 : nil }
        }

        /// Whether it is written as addresses are (RFC 4291 §2.2), or nginx's word for a unix socket.
        private static func isAddress(_ text: String) -> Bool {
            guard (2...45).contains(text.utf8.count) else { return false }
            return text == "unix:" || text.withUTF8Span { text in text.indices.allSatisfy { isAddress(text[$0]) } }
        }

        private static func isAddress(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."):
                true
            default: false
            }
        }

        /// Writes one JSON object up to what ties it to a chain: see ``AuditChain/append(_:to:hashing:)``.
        ///
        /// - Parameter start: see ``LineStart``.
        func write(to line: inout JSONWriter, start: [UInt8]) {
            line.resume(start[...])
            line.members(kind.isRelease ? #""audit":"released""# : #""audit":"issued""#)
            if let request {
                line.plainName("request")
                line.plainString(count: 16) { $0.append(hexadecimal: request.value) }
            }
            if let trace {
                line.plainName("trace")
                line.plainString(count: 32) {
                    $0.append(hexadecimal: trace.high)
                    $0.append(hexadecimal: trace.low)
                }
            }
            switch kind {
            case .credentials: line.members(#""kind":"credentials""#)
            case .upload: line.members(#""kind":"upload""#)
            case .session: line.members(#""kind":"session""#)
            case .release: line.members(#""kind":"images""#)
            }
            line.member("user", subject.userID.text)
            if let device = subject.deviceID { line.member("device", device) }
            if let tier { line.member("tier", tier) }
            line.member("issuer", subject.issuer)
            switch kind {
            case .credentials(let credentials): line.members(credentials.members)
            case .upload(let objectKey, let expiration):
                line.member("objectKey", objectKey)
                line.member("expiration", expiration)
            case .session(let id, let expiration):
                line.member("tokenId", id)
                line.member("expiration", expiration)
            case .release(let keys):
                line.plainName("objectKeys")
                line.beginArray()
                for key in keys { line.string(key) }
                line.endArray()
            }
            if let address { line.member("address", address) }
        }
    }
}

extension AuditLog.Issuance.Kind {
    fileprivate var isRelease: Bool { if case .release = self { true } else { false } }
}

/// What an audit line says of credentials, written once for all who are given the same ones.
package struct AuditedCredentials: Sendable, Equatable {
    /// The members, with their commas between them.
    let members: [UInt8]

    /// - Parameters:
    ///   - scopeDigest: of the scope's policy with its user open: ``Scope/digest``.
    ///   - shared: what is opened of other users' folders.
    package init(
        accessKeyID: String, session: String, scope: String, scopeDigest: String, until expiration: Date,
        shared: [SharedFolder] = []
    ) {
        var writer = JSONWriter()
        writer.member("scope", scope)
        writer.member("scopeDigest", scopeDigest)
        writer.member("session", session)
        writer.member("accessKeyId", accessKeyID)
        writer.member("expiration", expiration)
        if !shared.isEmpty {
            writer.plainName("shared")
            writer.beginArray()
            for folder in shared { writer.string(folder.prefix) }
            writer.endArray()
        }
        members = writer.bytes
    }
}
