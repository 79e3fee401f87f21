import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Room on the disk for the records of what is sent: on a full one the copies, which fill it, could not leave otherwise.
struct DiskReserve: Sendable {
    static let byteCount = 1 << 20
    let url: URL

    /// Makes it where there is none, and room for it. No error without: it helps only on a full disk.
    @concurrent func fill() async {
        var status = stat()
        guard stat(url.path, &status) != 0 || status.st_size != Self.byteCount else { return }
        let descriptor = open(url.path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // Bytes that no file system leaves out.
        let piece = [UInt8](repeating: 0xA5, count: 1 << 16)
        for _ in 0..<Self.byteCount / piece.count {
            guard write(descriptor, piece, piece.count) == piece.count else { return release() }
        }
    }

    /// Does a piece of work that writes, on a full disk once more with this room.
    func lent<Result>(to work: () throws(CloakroomError) -> Result) throws(CloakroomError) -> Result {
        do throws(CloakroomError) { return try work() } catch {
            guard error.code == .diskFull, unlink(url.path) == 0 else { throw error }
            return try work()
        }
    }

    func release() { unlink(url.path) }
}
