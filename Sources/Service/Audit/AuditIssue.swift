import CloakroomWire
package import HTTPValues
import StrictJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AuditLog {
    /// What was issued, to whom.
    package struct Issue: Sendable, Equatable {
        package enum Kind: Sendable, Equatable {
            /// - Parameter scopeDigest: of the scope's policy with its user open: ``Scope/digest``.
            case credentials(accessKeyID: String, session: String, scope: String, scopeDigest: String)
            case upload(objectKey: String)
            /// A token of our own, by its `jti`.
            case session(id: String)
        }

        package let kind: Kind
        package let subject: Subject
        package let tier: String?
        package let expiration: Date
        package let request: RequestID?
        /// The client as nginx saw it.
        package let address: String?

        package init(
            _ kind: Kind, to subject: Subject, tier: String?, until expiration: Date, by request: Request
        ) {
            self.kind = kind
            self.subject = subject
            self.tier = tier
            self.expiration = expiration
            self.request = request.id
            address = request.peerAddress.flatMap { Self.isAddress($0) ? $0 : nil }
        }

        /// Whether it is written as addresses are (RFC 4291 §2.2), or nginx's word for a unix socket.
        private static func isAddress(_ text: String) -> Bool {
            text == "unix:"
                || (2...45).contains(text.utf8.count)
                    && text.utf8.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                            UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."):
                            true
                        default: false
                        }
                    }
        }

        /// One JSON object up to what ties it to a chain: see ``AuditChain/append(_:)``.
        func line(at time: String) -> JSONWriter {
            var writer = JSONWriter(capacity: 768)
            writer.beginObject()
            func member(_ name: StaticString, _ value: String?) {
                guard let value else { return }
                writer.plainName(name)
                writer.string(value)
            }
            member("time", time)
            writer.plainName("audit")
            writer.plainString("issued")
            member("request", request?.description)
            writer.plainName("kind")
            switch kind {
            case .credentials: writer.plainString("credentials")
            case .upload: writer.plainString("upload")
            case .session: writer.plainString("session")
            }
            member("user", subject.userID.text)
            member("device", subject.deviceID)
            member("tier", tier)
            member("issuer", subject.issuer)
            switch kind {
            case .credentials(let accessKeyID, let session, let scope, let scopeDigest):
                member("scope", scope)
                member("scopeDigest", scopeDigest)
                member("session", session)
                member("accessKeyId", accessKeyID)
            case .upload(let objectKey): member("objectKey", objectKey)
            case .session(let id): member("tokenId", id)
            }
            member("expiration", expiration.wireText)
            member("address", address)
            return writer
        }
    }
}
