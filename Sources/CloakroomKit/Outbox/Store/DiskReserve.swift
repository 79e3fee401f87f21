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
    static let byteCount = 2 << 20
    /// What is given back at once: the rest is not for others that fill the disk.
    static let pieceByteCount = 1 << 17
    let url: URL

    /// Makes it where there is none, or less than there should be, and room for it. No error without: it helps only on a full
    /// disk, and what there is of it stays.
    @concurrent func fill() async {
        let size = byteCount ?? 0
        guard size < Self.byteCount else { return }
        let descriptor = open(url.path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // Bytes that no file system leaves out.
        let bytes = [UInt8](repeating: 0xA5, count: Self.byteCount - size)
        guard write(descriptor, bytes, bytes.count) != bytes.count else { return }
        if ftruncate(descriptor, off_t(size)) != 0 || size == 0 { release() }
    }

    /// Does a piece of work that writes, on a full disk again with more and more of this room.
    func lent<Result>(to work: () throws(CloakroomError) -> Result) throws(CloakroomError) -> Result {
        while true {
            do throws(CloakroomError) { return try work() } catch {
                guard error.code == .diskFull, giveBack() else { throw error }
            }
        }
    }

    func release() { unlink(url.path) }

    /// - Returns: `false` when there is nothing left.
    private func giveBack() -> Bool {
        guard let size = byteCount else { return false }
        let rest = size - Self.pieceByteCount
        return rest > 0 && truncate(url.path, off_t(rest)) == 0 || unlink(url.path) == 0
    }

    /// `nil` when there is none.
    private var byteCount: Int? {
        var status = stat()
        return stat(url.path, &status) == 0 ? Int(status.st_size) : nil
    }
}
