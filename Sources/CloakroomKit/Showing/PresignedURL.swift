public import Foundation

/// A URL that reads one object without credentials, such as for an `AsyncImage`.
///
/// It is a bearer secret: whoever has it can read the object until it ends. The description leaves it out; do not log or
/// store it.
public struct PresignedURL: Sendable, Equatable {
    public let url: URL
    public let key: String
    /// By the server's clock; never later than the end of the credentials that signed it.
    public let expiration: Date
}

extension PresignedURL: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "presigned URL of \(key) until \(expiration)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["key": key, "expiration": expiration]) }
}
