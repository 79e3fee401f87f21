import CloakroomCrypto
import CloakroomKit
import Foundation

/// The sealed files of attachments: read and written a chunk at a time, in memory of some chunks whatever their length.
///
/// A file is a version byte and chunks of 64 KiB, each sealed on its own and bound to its message, its file's name, its
/// place, and whether it is the last: one that was cut, or has chunks that were exchanged, does not open.
///
/// Calls block their thread while the disk reads or writes.
struct SealedAttachments: Sendable {
    let folder: URL

    /// Of what was not sealed yet, in bytes.
    static let chunkByteCount = 65_536
    static let sealedChunkByteCount = chunkByteCount + SealingKey.nonceByteCount + SealingKey.tagByteCount
    static let version: UInt8 = 1

    init(in folder: URL) { self.folder = folder }

    /// A name that no file has. Write the file, then commit the message's row with its name: what no row names is removed
    /// at the next opening.
    static func newFile() -> AttachmentFile {
        guard let file = AttachmentFile(rawValue: randomBytes(16).hexadecimal) else {
            preconditionFailure("32 hexadecimal digits")
        }
        return file
    }

    /// Seals bytes that are in memory.
    func write(
        _ bytes: some Collection<UInt8>, to file: AttachmentFile, key: SealingKey, context: SealingContext
    ) throws(CloakroomError) {
        var rest = bytes[...]
        try write(to: file, key: key, context: context) { () throws(CloakroomError) in
            let chunk = rest.prefix(Self.chunkByteCount)
            rest = rest.dropFirst(Self.chunkByteCount)
            return Array(chunk)
        }
    }

    /// Seals a file of the app's.
    func write(
        contentsOf source: URL, to file: AttachmentFile, key: SealingKey, context: SealingContext
    ) throws(CloakroomError) {
        let handle: FileHandle
        do { handle = try FileHandle(forReadingFrom: source) } catch {
            throw CloakroomError(of: error, otherwise: .unreadableFile, source.lastPathComponent)
        }
        defer { try? handle.close() }
        try write(to: file, key: key, context: context) { () throws(CloakroomError) in
            do { return Array(try handle.read(upToCount: Self.chunkByteCount) ?? Data()) } catch {
                throw CloakroomError(of: error, otherwise: .unreadableFile, source.lastPathComponent)
            }
        }
    }

    /// Seals what `next` gives. When it returns, the file survives a loss of power; when it throws, there is none.
    ///
    /// - Parameter next: the bytes that follow, of any number; empty at the end.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/storeFailed``,
    ///   ``CloakroomError/Code/cancelled``, and what `next` throws.
    func write(
        to file: AttachmentFile, key: SealingKey, context: SealingContext,
        from next: () throws(CloakroomError) -> [UInt8]
    ) throws(CloakroomError) {
        let folder = try openFolder()
        let temporary = PrivateFolder.temporaryName(for: file.rawValue)
        do throws(CloakroomError) {
            let target = try converted { () throws(PrivateFolderError) in try folder.newFile(temporary) }
            try converted { () throws(PrivateFolderError) in try target.append([Self.version]) }
            var waiting: ArraySlice<UInt8> = []
            var index = 0
            var isAtEnd = false
            while !isAtEnd {
                guard !Task.isCancelled else { throw CloakroomError.cancelled }
                let more = try next()
                isAtEnd = more.isEmpty
                waiting += more
                // Only what follows a chunk says that it is not the last.
                while waiting.count > Self.chunkByteCount || isAtEnd {
                    let isLast = waiting.count <= Self.chunkByteCount
                    let sealed = key.seal(
                        waiting.prefix(Self.chunkByteCount), context: context.chunk(index, isLast: isLast, of: file))
                    try converted { () throws(PrivateFolderError) in try target.append(sealed) }
                    waiting = waiting.dropFirst(Self.chunkByteCount)
                    index += 1
                    if isLast { break }
                }
            }
            try converted { () throws(PrivateFolderError) in
                try target.sync()
                try folder.rename(temporary, to: file.rawValue)
            }
        } catch {
            try? folder.remove(temporary)
            throw error
        }
    }

    /// Gives the content to `body`, a chunk at a time. Each chunk is genuine; that none is missing is known at the end.
    ///
    /// - Throws: as ``SealedAttachment/next()`` does, and what `body` throws.
    func read(
        _ file: AttachmentFile, key: SealingKey, context: SealingContext,
        _ body: ([UInt8]) throws(CloakroomError) -> Void
    ) throws(CloakroomError) {
        var attachment = try open(file, key: key, context: context)
        while let chunk = try attachment.next() { try body(chunk) }
    }

    /// - Throws: ``CloakroomError/Code/unreadableFile`` when there is no such file.
    func open(
        _ file: AttachmentFile, key: SealingKey, context: SealingContext
    ) throws(CloakroomError) -> SealedAttachment {
        let folder = try openFolder()
        let source = try converted { () throws(PrivateFolderError) in try folder.file(file.rawValue) }
        guard let source else { throw CloakroomError(.unreadableFile, "there is no such attachment") }
        return try SealedAttachment(source, named: file, key: key, context: context)
    }

    /// Seals a file with another key, as for a message whose deadline fell: commit its new name, then remove the former
    /// file.
    func reseal(
        _ file: AttachmentFile, as new: AttachmentFile, context: SealingContext, from former: SealingKey,
        to key: SealingKey
    ) throws(CloakroomError) {
        var attachment = try open(file, key: former, context: context)
        try write(to: new, key: key, context: context) { () throws(CloakroomError) in try attachment.next() ?? [] }
    }

    /// The whole content, for what is known to be small enough.
    func data(
        of file: AttachmentFile, key: SealingKey, context: SealingContext
    ) throws(CloakroomError) -> Data {
        var data = Data()
        try read(file, key: key, context: context) { (chunk) throws(CloakroomError) in data.append(contentsOf: chunk) }
        return data
    }

    /// No error when there is none.
    func remove(_ file: AttachmentFile) throws(CloakroomError) {
        let folder = try openFolder()
        try converted { () throws(PrivateFolderError) in try folder.remove(file.rawValue) }
    }

    /// What the folder has: files, and what interrupted processes left.
    func names() throws(CloakroomError) -> Set<String> {
        let folder = try openFolder()
        return Set(try converted { () throws(PrivateFolderError) in try folder.names() })
    }

    /// Removes all files that no row names, and what interrupted processes left.
    ///
    /// - Parameter live: those of all rows, as they are committed; no file may be written meanwhile.
    /// - Returns: how many files were removed.
    @discardableResult
    func removeAll(except live: Set<AttachmentFile>) throws(CloakroomError) -> Int {
        let folder = try openFolder()
        return try converted { () throws(PrivateFolderError) in
            var count = 0
            for name in try folder.names() {
                if let file = AttachmentFile(rawValue: name), live.contains(file) { continue }
                try folder.remove(name)
                count += 1
            }
            try folder.syncNames()
            return count
        }
    }

    private func openFolder() throws(CloakroomError) -> PrivateFolder {
        do throws(PrivateFolderError) { return try PrivateFolder(making: folder.path) } catch {
            throw CloakroomError(error, of: "the attachments")
        }
    }

    private func converted<Value: ~Copyable>(
        _ work: () throws(PrivateFolderError) -> Value
    ) throws(CloakroomError) -> Value {
        do throws(PrivateFolderError) { return try work() } catch { throw CloakroomError(error, of: "the attachments") }
    }
}
