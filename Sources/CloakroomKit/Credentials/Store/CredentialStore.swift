public import Foundation

/// Where a ``CredentialProvider`` keeps what it holds over a restart: ``SealedFileCredentialStore``, the Keychain, or
/// what the app brings.
///
/// A store keeps one record. It may fail: the only consequence is that credentials are vended anew.
public protocol CredentialStore: Sendable {
    /// - Returns: what was saved last; `nil` when nothing was, or when it is damaged.
    /// - Throws: such as ``CloakroomError/Code/storeOwnerMismatch`` for another owner's.
    func load() async throws -> StoredCredentials?

    /// Atomically replaces what was saved before.
    func save(_ credentials: StoredCredentials) async throws

    /// Leaves nothing behind; no error when there was nothing.
    func clear() async throws
}

/// Credentials as bytes, for a store to seal and to keep.
///
/// They are plain text: the store has to encrypt or protect them.
public struct StoredCredentials: Sendable, Equatable {
    /// At most a few KiB.
    public let bytes: Data

    /// An earlier value of ``bytes``. It is validated when it is used.
    public init(bytes: Data) { self.bytes = bytes }
}

extension StoredCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<secret>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
