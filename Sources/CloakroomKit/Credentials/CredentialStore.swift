public import Foundation

/// Where a ``CredentialProvider`` keeps what it holds over a restart: ``SealedFileCredentialStore``, the Keychain, or
/// what the app brings.
///
/// A store keeps one record. It may fail: credentials are then vended anew, and nobody is harmed.
public protocol CredentialStore: Sendable {
    /// - Returns: what was saved last; `nil` when nothing was, or when it is damaged.
    /// - Throws: such as ``CloakroomError/Code/storeOwnerMismatch`` for another owner's.
    func load() async throws -> StoredCredentials?

    /// Takes the place of what was saved before, wholly or not at all.
    func save(_ credentials: StoredCredentials) async throws

    /// Leaves nothing behind; no error when there was nothing.
    func clear() async throws
}

/// Credentials as bytes, for a store to seal and to keep.
///
/// They are not sealed yet: whoever reads them has the credentials.
public struct StoredCredentials: Sendable, Equatable {
    /// At most a few KiB.
    public let bytes: Data

    /// What ``bytes`` gave once. Nonsense is found out by who uses it.
    public init(bytes: Data) { self.bytes = bytes }
}

extension StoredCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<secret>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
