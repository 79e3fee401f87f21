import CloakroomCrypto
import Foundation

/// A file that is uploaded: open, and known by what it was when it was opened.
struct UploadFile: Sendable {
    private let file: TransportFile
    let url: URL
    private let stamp: FileStamp
    var version: FileVersion { FileVersion(byteCount: stamp.byteCount, modified: stamp.modified) }
    var byteCount: Int64 { stamp.byteCount }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile``, also for what is no file.
    init(_ url: URL) throws(CloakroomError) {
        self.url = url
        guard let file = try? TransportFile(reading: url), let status = file.status, status.isRegularFile else {
            throw CloakroomError(.unreadableFile, "\(url.lastPathComponent) is no file that can be read")
        }
        self.file = file
        stamp = FileStamp(status)
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile`` when it is not the file that had this stamp.
    func check(_ stamp: FileStamp) throws(CloakroomError) {
        guard self.stamp.isOfSameBytes(as: stamp) else { throw changed }
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile`` when there is another file of its name, or it
    ///   was written to, since it was opened.
    func checkUnchanged() throws(CloakroomError) {
        var named = stat()
        guard let opened = file.status, FileStamp(opened).isOfSameBytes(as: stamp),
            stat(url.path, &named) == 0, FileStamp(named).isOfSameBytes(as: stamp)
        else { throw changed }
    }

    /// Reads bytes, off the caller's actor.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile``, also when they are not there any more.
    @concurrent func read(_ range: Range<Int64>) async throws(CloakroomError) -> Data {
        guard !range.isEmpty else { return Data() }
        // Not `Data(count:)`, which would write zeros first.
        guard let bytes = malloc(range.count) else {
            throw CloakroomError(.unreadableFile, "no memory for \(range.count) bytes of \(url.lastPathComponent)")
        }
        // Filled first: `Data` keeps a few bytes in itself, and frees these at once.
        do { try fill(UnsafeMutableRawBufferPointer(start: bytes, count: range.count), from: range.lowerBound) } catch {
            free(bytes)
            throw error
        }
        return Data(bytesNoCopy: bytes, count: range.count, deallocator: .free)
    }

    /// Bytes to be sent, and their MD5.
    ///
    /// Few are held in memory: they are sent faster so. Many are read twice, by the transport a second time; that leaves
    /// the process small, and S3 refuses them should they not be the same then.
    /// - Parameter md5: of the bytes, where it is known already.
    func body(_ range: Range<Int64>, md5 known: [UInt8]? = nil) async throws(CloakroomError) -> (HTTPBody, md5: [UInt8])
    {
        if range.count > 1 << 20 {
            if let known { return (.file(url, range), known) }
            return (.file(url, range), try await md5(range))
        }
        let data = try await read(range)
        if let known { return (.bytes(data), known) }
        return (.bytes(data), await S3BackupClient.md5(data))
    }

    /// The MD5 of bytes, in chunks, off the caller's actor.
    @concurrent func md5(_ range: Range<Int64>) async throws(CloakroomError) -> [UInt8] {
        var md5 = MD5()
        try pieces(range) { md5.update($0) }
        return md5.finalize()
    }

    /// Hands over bytes, in order, a few at a time.
    func pieces(_ range: Range<Int64>, _ take: (UnsafeRawBufferPointer) -> Void) throws(CloakroomError) {
        var piece = [UInt8](repeating: 0, count: min(range.count, 1 << 18))
        var offset = range.lowerBound
        while offset < range.upperBound {
            guard !Task.isCancelled else { throw CloakroomError.cancelled }
            let count = min(piece.count, Int(range.upperBound - offset))
            if count < piece.count { piece.removeLast(piece.count - count) }
            var failure: CloakroomError?
            piece.withUnsafeMutableBytes { buffer in
                do throws(CloakroomError) { try fill(buffer, from: offset) } catch { failure = error }
            }
            if let failure { throw failure }
            piece.withUnsafeBytes { take($0) }
            offset += Int64(count)
        }
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer, from offset: Int64) throws(CloakroomError) {
        guard let count = file.read(filling: buffer, at: offset) else {
            throw CloakroomError(.unreadableFile, "\(url.lastPathComponent) could not be read (errno \(errno))")
        }
        guard count == buffer.count else { throw changed }
    }

    private var changed: CloakroomError {
        CloakroomError(.unreadableFile, "\(url.lastPathComponent) changed while it was uploaded")
    }
}
