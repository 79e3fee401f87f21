#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
import Foundation

/// A file held open, to be read or written at places.
final class TransportFile: Sendable {
    private let descriptor: Int32
    /// When it was opened, in bytes.
    let size: Int64

    /// - Throws: ``HTTPTransportError/unreadableFile``.
    convenience init(reading url: URL) throws(HTTPTransportError) {
        guard let file = Self.open(url, O_RDONLY) else { throw .unreadableFile }
        self.init(descriptor: file.descriptor, size: file.size)
    }

    /// Opens one that exists, and no symbolic link.
    ///
    /// - Throws: ``HTTPTransportError/unwritableFile(isFull:)``.
    convenience init(writing url: URL) throws(HTTPTransportError) {
        guard let file = Self.open(url, O_WRONLY | O_NOFOLLOW) else { throw .unwritableFile(isFull: false) }
        self.init(descriptor: file.descriptor, size: file.size)
    }

    private init(descriptor: Int32, size: Int64) {
        self.descriptor = descriptor
        self.size = size
    }

    deinit { close(descriptor) }

    private static func open(_ url: URL, _ access: Int32) -> (descriptor: Int32, size: Int64)? {
        guard url.isFileURL else { return nil }
        let descriptor = url.withUnsafeFileSystemRepresentation { path in
            path.map { openDescriptor($0, access | O_CLOEXEC) } ?? -1
        }
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            close(descriptor)
            return nil
        }
        return (descriptor, Int64(status.st_size))
    }

    /// - Returns: how many bytes were read, 0 at the end of the file, `nil` when it cannot be read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            guard errno == EINTR else { return nil }
        }
    }

    /// - Returns: how many bytes were read, fewer than there is room for at the end of the file, `nil` when it cannot be
    ///   read.
    func read(filling buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            guard let count = read(into: rest, at: offset + Int64(done)) else { return nil }
            guard count > 0 else { break }
            done += count
        }
        return done
    }

    /// - Returns: The bytes of a range.
    /// - Throws: ``HTTPTransportError/unreadableFile`` also when the file ends before.
    func bytes(_ range: Range<Int64>) throws(HTTPTransportError) -> Data {
        var bytes = Data(count: range.count)
        let count = bytes.withUnsafeMutableBytes { read(filling: $0, at: range.lowerBound) }
        guard count == range.count else { throw .unreadableFile }
        return bytes
    }

    /// What fstat(2) says of it now; `nil` when it fails.
    var status: stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }

    /// - Throws: ``HTTPTransportError/unwritableFile(isFull:)``.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(HTTPTransportError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + Int64(done)))
            if count >= 0 {
                done += count
            } else if errno != EINTR {
                throw .unwritableFile(isFull: errno == ENOSPC || errno == EDQUOT)
            }
        }
    }
}

/// `open` of the C library, whose name the methods above hide.
private func openDescriptor(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { open(path, flags) }
