import CloakroomCrypto
public import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Keeps credentials in a file that only this user of the system can read, sealed with AES-256-GCM.
///
/// The file names its owner: another one's is refused with ``CloakroomError/Code/storeOwnerMismatch``, one of a newer version
/// with ``CloakroomError/Code/laterVersion``, and neither is changed. What
/// does not open, is damaged or could be read by others is removed, and credentials are vended anew.
///
/// Without a key of the app's own, one is made and kept beside the file. Then the seal keeps a copy of the file alone
/// from being of use; it does not protect against a reader of the whole folder.
public actor SealedFileCredentialStore: CredentialStore {
    private let path: String
    /// What stands before the credentials in the sealed message.
    private let owner: [UInt8]
    private let givenKey: SealingKey?

    /// - Parameters:
    ///   - folder: for this alone, such as `~/.local/state/my-app/credentials`; made, with mode 0700, when something is
    ///     saved. One that others can enter is shut to them.
    ///   - owner: who is signed in, and where; give each one a folder of their own.
    ///   - key: a secret of any length, such as one from a hardware store; `nil` for a key file.
    public init(folder: URL, owner: StoreOwner, key: Data? = nil) {
        path = folder.path
        self.owner = SHA256.hash(owner.bytes)
        givenKey = key.map { SealingKey(from: Array($0), purpose: Self.purpose) }
    }

    public func load() async throws -> StoredCredentials? {
        let content = try converted { () throws(PrivateFolderError) -> FileContent in
            guard let folder = try PrivateFolder.existing(at: path) else { return .nothing }
            for name in [Self.fileName, Self.keyName] { folder.removeRemains(of: name) }
            let content = try self.content(of: folder)
            if case .useless = content { try folder.remove(Self.fileName) }
            return content
        }
        switch content {
        case .ours(let credentials): return credentials
        case .nothing, .useless: return nil
        case .others: throw Self.ownerMismatch
        case .later: throw Self.laterVersion
        }
    }

    public func save(_ credentials: StoredCredentials) async throws {
        let refusal = try converted { () throws(PrivateFolderError) -> CloakroomError? in
            let folder = try PrivateFolder(making: path)
            if let refusal = try content(of: folder).refusal { return refusal }
            let known = try key(in: folder)
            let key = if let known { known } else { try newKey(in: folder) }
            let sealed = key.seal(owner + credentials.bytes, context: Self.context)
            try folder.write([Self.version] + sealed, to: Self.fileName)
            return nil
        }
        if let refusal { throw refusal }
    }

    public func clear() async throws {
        let refusal = try converted { () throws(PrivateFolderError) -> CloakroomError? in
            guard let folder = try PrivateFolder.existing(at: path) else { return nil }
            folder.removeRemains(of: Self.fileName)
            if let refusal = try content(of: folder).refusal { return refusal }
            try folder.remove(Self.fileName)
            return nil
        }
        if let refusal { throw refusal }
    }

    // MARK: The file

    private enum FileContent {
        case ours(StoredCredentials)
        case others
        case later
        case nothing
        /// Damaged, of an earlier version, open to others, or sealed with another key.
        case useless

        /// Why the file must stay as it is; `nil` when it may be written over.
        var refusal: CloakroomError? {
            switch self {
            case .others: SealedFileCredentialStore.ownerMismatch
            case .later: SealedFileCredentialStore.laterVersion
            case .ours, .nothing, .useless: nil
            }
        }
    }

    private func content(of folder: borrowing PrivateFolder) throws(PrivateFolderError) -> FileContent {
        let overhead = 1 + SealingKey.nonceByteCount + SealingKey.tagByteCount + owner.count
        switch try folder.read(Self.fileName, maximumByteCount: StoredCredentials.maximumByteCount + overhead) {
        case .missing: return .nothing
        case .unfit: return .useless
        case .bytes(let bytes):
            guard let version = bytes.first, version >= Self.version else { return .useless }
            let message = try key(in: folder)?.open(Array(bytes.dropFirst()), context: Self.context)
            guard version == Self.version else {
                // What opens as this version's is of this version, with a damaged number. Another context is a duty of
                // later ones.
                return message == nil ? .later : .useless
            }
            guard let message, message.count >= owner.count else { return .useless }
            guard message.starts(with: owner) else { return .others }
            return .ours(StoredCredentials(bytes: Data(message.dropFirst(owner.count))))
        }
    }

    // MARK: The key

    private func key(in folder: borrowing PrivateFolder) throws(PrivateFolderError) -> SealingKey? {
        if let givenKey { return givenKey }
        switch try folder.read(Self.keyName, maximumByteCount: SealingKey.byteCount) {
        case .bytes(let bytes): return SealingKey(bytes)
        case .missing, .unfit: return nil
        }
    }

    /// Another process may do so, too: the first one's counts.
    private func newKey(in folder: borrowing PrivateFolder) throws(PrivateFolderError) -> SealingKey {
        let bytes = randomBytes(SealingKey.byteCount)
        if try !folder.create(Self.keyName, with: bytes) {
            if let theirs = try key(in: folder) { return theirs }
            // One that is no key, or that others could read.
            try folder.remove(Self.keyName)
            guard try folder.create(Self.keyName, with: bytes) else { throw .init("link", number: EEXIST) }
        }
        guard let key = SealingKey(bytes) else { throw .init("key", number: EINVAL) }
        return key
    }

    private static let purpose = "Cloakroom credentials"
    private static let context = Array(purpose.utf8)
    private static let fileName = "credentials.sealed"
    private static let keyName = "credentials.key"
    /// The first byte of the file.
    private static let version: UInt8 = 2
    private static let laterVersion = CloakroomError(
        .laterVersion, "The stored credentials were made by a newer version of the app.")
    private static let ownerMismatch = CloakroomError(
        .storeOwnerMismatch,
        "The stored credentials are those of another user or endpoint; give each a folder of their own, or remove it.")

    private func converted<Value>(
        _ work: () throws(PrivateFolderError) -> Value
    ) throws(CloakroomError) -> Value {
        do throws(PrivateFolderError) {
            return try work()
        } catch {
            switch error.number {
            case ENOSPC, EDQUOT:
                throw CloakroomError(.diskFull, "There is no room for the credentials: \(error.call).")
            default:
                throw CloakroomError(
                    .storeFailed, "The folder of the credentials: \(error.call) failed with \(error.number).")
            }
        }
    }
}
