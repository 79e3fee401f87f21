package import CloakroomJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What `POST /api/v1/auth/session` takes: an identity token to sign in with, or nothing but the session that stands in
/// `Authorization`, to be continued.
public struct SessionRequest: Sendable, Equatable {
    /// A JWT of an issuer that the worker's settings name for sessions, such as Apple; `nil` continues a session.
    public var identityToken: String?
    /// The nonce as the app made it; its SHA-256 in hexadecimal digits is what the issuer was given.
    public var nonce: String?
    /// Names the device in audit lines, 1 to 255 bytes.
    public var deviceId: String?

    public init(identityToken: String? = nil, nonce: String? = nil, deviceId: String? = nil) {
        self.identityToken = identityToken
        self.nonce = nonce
        self.deviceId = deviceId
    }

    /// - Returns: `nil` for what is no such body; an empty one is that of a session to be continued.
    package init?(parsing body: [UInt8]) {
        self.init()
        guard !body.isEmpty else { return }
        guard let object = (try? JSON(parsing: body, maximumDepth: 4))?.object,
            let token = Self.text("identityToken", in: object, maximum: 8192),
            let nonce = Self.text("nonce", in: object, maximum: 256),
            let device = Self.text("deviceId", in: object, maximum: 255)
        else { return nil }
        (identityToken, self.nonce, deviceId) = (token, nonce, device)
        // A nonce is that of a sign-in; without one, something was forgotten.
        guard identityToken != nil || self.nonce == nil else { return nil }
    }

    /// - Returns: `nil` for a value that is none; a value of `nil` for one that is absent.
    private static func text(_ name: String, in object: JSON.Object, maximum: Int) -> String?? {
        guard let value = object[name], value != .null else { return .some(nil) }
        guard let text = value.string, (1...maximum).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        return text
    }

    /// The body's JSON.
    public var encoded: [UInt8] {
        var writer = JSONWriter(capacity: 1536)
        writer.beginObject()
        if let identityToken { writer.member("identityToken", identityToken) }
        if let nonce { writer.member("nonce", nonce) }
        if let deviceId { writer.member("deviceId", deviceId) }
        writer.endObject()
        return writer.bytes
    }
}

/// The response of `POST /api/v1/auth/session`.
public struct SessionBody: Sendable, Equatable, Codable {
    /// Stands in `Authorization: Bearer …` of the other requests. A bearer token: it stands for the user.
    public var token: String
    /// When it ends; it can be continued before that.
    public var expiresAt: Date
    /// The user's name with the service, which is the name of the user's folders.
    public var userId: String

    public init(token: String, expiresAt: Date, userId: String) {
        self.token = token
        self.expiresAt = expiresAt
        self.userId = userId
    }
}

extension SessionBody: WireBody {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("token", token)
        writer.member("expiresAt", expiresAt)
        writer.member("userId", userId)
        writer.endObject()
    }
}

/// What `POST /api/v1/auth/apple/notifications` takes.
package struct AppleNotificationRequest: WireEncodable {
    /// A JWS of Apple's.
    package let payload: String

    package init(payload: String) { self.payload = payload }

    package init?(parsing body: [UInt8]) {
        guard let object = (try? JSON(parsing: body, maximumDepth: 4))?.object,
            let payload = object["payload"]?.string
        else { return nil }
        self.payload = payload
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("payload", payload)
        writer.endObject()
    }
}

// A printed body would be a leaked token; these print what is safe to know.
extension SessionRequest: CustomStringConvertible, CustomReflectable {
    public var description: String { identityToken == nil ? "continue a session" : "sign in" }
    public var customMirror: Mirror { Mirror(self, children: ["deviceId": deviceId as Any]) }
}

extension SessionBody: CustomStringConvertible, CustomReflectable {
    public var description: String { "session of \(userId) until \(expiresAt.wireText)" }
    public var customMirror: Mirror { Mirror(self, children: ["userId": userId, "expiresAt": expiresAt]) }
}
