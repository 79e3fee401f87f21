import CloakroomKit
public import Foundation

/// Keeps the master key in a file that only this user of the system can read, for systems without a Keychain.
///
/// Give it a folder outside of the messages', which is in no backup: who has both can open what was stored. Each user has one.
/// When the key is replaced, zeros are written over the former one. Flash memory, snapshots and journals of the
/// file system may keep it all the same: where that matters, use a disk that is encrypted, or a vault in hardware.
public actor FileKeyVault: KeyVault {
    private let path: String

    private static let fileName = "messages.master"
    private static let maximumByteCount = 4096

    /// - Parameter folder: for this alone; made, with mode 0700. One that others can enter is shut to them.
    public init(folder: URL) { path = folder.path }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed``, also for what is not a file of this user's alone.
    public func load() async throws -> Data? {
        try converted { () throws(PrivateFolderError) in
            guard let folder = try PrivateFolder.existing(at: path) else { return nil }
            try folder.eraseRemains(of: Self.fileName)
            switch try folder.read(Self.fileName, maximumByteCount: Self.maximumByteCount) {
            case .bytes(let bytes): return Data(bytes)
            case .missing: return nil
            case .unfit: throw .init("fstat", number: EPERM)
            }
        }
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/storeFailed``.
    public func store(_ value: Data) async throws {
        try converted { () throws(PrivateFolderError) in
            try PrivateFolder(making: path).replace(Self.fileName, with: Array(value))
        }
    }

    public func erase() async throws {
        try converted { () throws(PrivateFolderError) in
            guard let folder = try PrivateFolder.existing(at: path) else { return }
            try folder.eraseRemains(of: Self.fileName)
            try folder.erase(Self.fileName)
        }
    }

    private func converted<Value>(
        _ work: () throws(PrivateFolderError) -> Value
    ) throws(CloakroomError) -> Value {
        do throws(PrivateFolderError) { return try work() } catch {
            throw CloakroomError(error, of: "the vault of messages")
        }
    }
}
