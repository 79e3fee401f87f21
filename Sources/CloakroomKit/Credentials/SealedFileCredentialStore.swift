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
/// The file is bound to the user of the app: another one's does not open. What does not open, is damaged or could be
/// read by others is taken away, and credentials are vended anew.
///
/// Without a key of the app's own, one is made and kept beside the file. Then the seal keeps a copy of the file alone
/// from being of use; it does not keep out who can read the whole folder.
public actor SealedFileCredentialStore: CredentialStore {
    private let path: String
    private let context: [UInt8]
    private let givenKey: SealingKey?

    /// - Parameters:
    ///   - folder: for this alone, such as `~/.local/state/my-app/credentials`; made, with mode 0700, when something is
    ///     saved. One that others can enter is shut to them.
    ///   - user: who is signed in, as the app knows them.
    ///   - key: a secret of any length, such as one from a hardware store; `nil` for a key file.
    public init(folder: URL, user: String, key: Data? = nil) {
        path = folder.path
        context = Array("\(Self.purpose)\n\(user)".utf8)
        givenKey = key.map { SealingKey(from: Array($0), purpose: Self.purpose) }
    }

    public func load() async throws -> StoredCredentials? {
        try converted { () throws(PrivateFolderError) -> StoredCredentials? in
            guard let folder = try PrivateFolder.existing(at: path) else { return nil }
            for name in [Self.fileName, Self.keyName] { folder.removeRemains(of: name) }
            let overhead = 1 + SealingKey.nonceByteCount + SealingKey.tagByteCount
            switch try folder.read(
                Self.fileName, maximumByteCount: StoredCredentials.maximumByteCount + overhead)
            {
            case .missing: return nil
            case .bytes(let bytes):
                if bytes.first == Self.version, let key = try key(in: folder),
                    let message = key.open(Array(bytes.dropFirst()), context: context)
                {
                    return StoredCredentials(bytes: Data(message))
                }
            case .unfit: break
            }
            try folder.remove(Self.fileName)
            return nil
        }
    }

    public func save(_ credentials: StoredCredentials) async throws {
        try converted { () throws(PrivateFolderError) -> Void in
            let folder = try PrivateFolder(making: path)
            let known = try key(in: folder)
            let key = if let known { known } else { try newKey(in: folder) }
            let sealed = key.seal(Array(credentials.bytes), context: context)
            try folder.write([Self.version] + sealed, to: Self.fileName)
        }
    }

    public func clear() async throws {
        try converted { () throws(PrivateFolderError) -> Void in
            guard let folder = try PrivateFolder.existing(at: path) else { return }
            folder.removeRemains(of: Self.fileName)
            try folder.remove(Self.fileName)
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

    /// Another process may be at it, too: the first one's counts.
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
    private static let fileName = "credentials.sealed"
    private static let keyName = "credentials.key"
    /// The first byte of the file.
    private static let version: UInt8 = 1

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
