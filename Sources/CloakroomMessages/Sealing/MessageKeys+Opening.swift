import CloakroomCrypto
import CloakroomKit
import Foundation

extension MessageKeys {
    /// Where the keys come from.
    enum Origin: Sendable, Equatable {
        case stored
        /// There were none.
        case new
        /// There were some, which nothing can open any longer: what they sealed is lost, and new ones have begun.
        case lost(Loss)
    }

    enum Loss: Sendable, Equatable {
        /// As on another device, to which the files alone were copied.
        case vaultEmpty
        case fileMissing
        /// Damaged, or under another master key.
        case fileUseless

        var error: CloakroomError {
            let reason =
                switch self {
                case .vaultEmpty: "the vault has no key, as on another device or without the right to its record"
                case .fileMissing: "the file of keys is gone"
                case .fileUseless: "the file of keys is damaged, or under another master key"
                }
            return CloakroomError(.vaultLost, "stored messages cannot be read: \(reason)")
        }
    }

    /// Reads the keys, and completes or undoes a rotation that was interrupted.
    ///
    /// - Parameters:
    ///   - path: of the folder for the key file.
    ///   - beginsAnew: makes keys where none can be read; what was sealed with those that cannot is lost then.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/vaultLocked`` until the first unlock after a start of the device,
    ///   ``CloakroomError/Code/vaultLost`` where keys would have to begin anew and are not to,
    ///   ``CloakroomError/Code/laterVersion``, ``CloakroomError/Code/storeFailed``, ``CloakroomError/Code/diskFull``.
    ///   Nothing was changed; repeat it later.
    static func open(
        in path: String, vault: any KeyVault, beginsAnew: Bool
    ) async throws(CloakroomError) -> (keys: MessageKeys, origin: Origin) {
        let opened = try KeyFiles(in: path)
        let current = opened.current
        let next = opened.next
        for file in [current, next] { try refuseLaterVersion(of: file?.first, MessageKeyTable.version) }
        // Only after the files: before the first unlock they cannot be read, and then a vault that says it has nothing
        // proves nothing.
        switch try await vault.master() {
        case .key(let bytes):
            guard let master = SealingKey(bytes) else { break }
            if let table = next.flatMap({ MessageKeyTable($0, under: master) }) {
                let keys = MessageKeys(folder: opened.folder, vault: vault, table: table, master: master)
                keys.isNextStale = table.isStale
                try keys.complete(master)
                keys.settle()
                return (keys, .stored)
            }
            if let table = current.flatMap({ MessageKeyTable($0, under: master) }) {
                let keys = MessageKeys(folder: opened.folder, vault: vault, table: table, master: master)
                keys.settle()
                return (keys, .stored)
            }
            let loss: Loss = current == nil && next == nil ? .fileMissing : .fileUseless
            guard beginsAnew else { throw loss.error }
            return (try await begin(in: opened.folder, vault: vault), .lost(loss))
        case .nothing, .useless: break
        }
        // A vault can be empty for this process alone, as one without the right to its record.
        guard beginsAnew else { throw Loss.vaultEmpty.error }
        // A first start that was interrupted leaves the second file alone.
        return (try await begin(in: opened.folder, vault: vault), current == nil ? .new : .lost(.vaultEmpty))
    }

    private static func begin(
        in folder: consuming PrivateFolder, vault: any KeyVault
    ) async throws(CloakroomError) -> MessageKeys {
        let master = SealingKey.random()
        let keys = MessageKeys(folder: folder, vault: vault, table: MessageKeyTable(), master: master)
        try keys.write(to: nextFile, under: master, isStale: false)
        try await vault.store(master: master)
        try keys.complete(master)
        keys.settle()
        return keys
    }

    /// Removes what interrupted processes left.
    private func settle() {
        for name in [Self.file, Self.nextFile, Self.reserveFile] { folder.removeRemains(of: name) }
        try? folder.remove(Self.nextFile)
        if let reserve = try? folder.file(Self.reserveFile) { reserveByteCount = (try? reserve.byteCount()) ?? 0 }
        keepReserve()
    }

    /// Erases the master key, so that nothing can be opened any longer; then the files. A rotation that waits for the vault
    /// ends before this returns, so that new keys can be made by ``open(in:vault:)``.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/vaultLocked``, ``CloakroomError/Code/storeFailed``; repeat it.
    func erase() async throws(CloakroomError) {
        forget()
        try await eraseAll()
        guard isRotating else { return }
        await withCheckedContinuation { waiting.append($0) }
        // It may have stored its master key meanwhile, under which the disk may keep a file.
        try await eraseAll()
    }

    /// Erases the keys of a storage that was not opened, as when the process ended while it erased everything.
    static func erase(in path: String, vault: any KeyVault) async throws(CloakroomError) {
        do { try await vault.erase() } catch { throw CloakroomError(of: error, otherwise: .storeFailed, "the vault") }
        do throws(PrivateFolderError) {
            let folder = try PrivateFolder(making: path)
            for name in [file, nextFile, reserveFile] { try folder.remove(name) }
        } catch {
            throw CloakroomError(error, of: "the keys of messages")
        }
    }

    private func eraseAll() async throws(CloakroomError) {
        do { try await vault.erase() } catch { throw CloakroomError(of: error, otherwise: .storeFailed, "the vault") }
        try converted { () throws(PrivateFolderError) in
            for name in [Self.file, Self.nextFile, Self.reserveFile] { try folder.remove(name) }
        }
        reserveByteCount = 0
    }
}

/// The folder of the keys, and the files in it.
private struct KeyFiles: ~Copyable {
    let folder: PrivateFolder
    /// `nil` when there is none.
    let current: [UInt8]?
    let next: [UInt8]?

    init(in path: String) throws(CloakroomError) {
        let folder = try Self.folder(path)
        let current = try Self.content(of: MessageKeys.file, in: folder)
        let next = try Self.content(of: MessageKeys.nextFile, in: folder)
        self.folder = folder
        self.current = current
        self.next = next
    }

    private static func folder(_ path: String) throws(CloakroomError) -> PrivateFolder {
        do throws(PrivateFolderError) { return try PrivateFolder(making: path) } catch {
            throw CloakroomError(error, of: "the folder of the keys")
        }
    }

    private static func content(
        of name: String, in folder: borrowing PrivateFolder
    ) throws(CloakroomError) -> [UInt8]? {
        do throws(PrivateFolderError) {
            switch try folder.read(name, maximumByteCount: MessageKeyTable.maximumByteCount) {
            case .bytes(let bytes): return bytes
            case .missing: return nil
            case .unfit: throw .init("fstat", number: EPERM)
            }
        } catch {
            // What the system says of a protected file until the first unlock.
            if error == PrivateFolderError("open", number: EPERM) {
                throw CloakroomError(.vaultLocked, "the keys of messages cannot be read before the first unlock")
            }
            throw CloakroomError(error, of: "the keys of messages")
        }
    }
}
