import Glibc
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// Reads the lines of a file of any size, a piece at a time.
struct AuditFileReader {
    struct AuditFileReadError: Error, CustomStringConvertible {
        let path: String
        let reason: SystemError

        var description: String { "\(path): \(reason)" }
    }

    let path: String
    private static let pieceSize = 1 << 18

    func read(into verifier: inout AuditVerifier) throws(AuditFileReadError) {
        let file: Descriptor
        do { file = try Descriptor(checking: open(path, O_RDONLY | O_CLOEXEC)) } catch {
            throw AuditFileReadError(path: path, reason: error)
        }
        var status = stat()
        let size = fstat(file.raw, &status) == 0 ? Int(status.st_size) : 0
        let progress = ProgressLine(what: path, total: size)
        var piece = [UInt8](repeating: 0, count: Self.pieceSize)
        var line: [UInt8] = []
        var (number, done, isTooLong) = (1, 0, false)
        while true {
            let count = Glibc.read(file.raw, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw AuditFileReadError(path: path, reason: SystemError(code: errno)) }
            guard count > 0 else { break }
            var rest = piece[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                if !isTooLong { line += rest[..<end] }
                verifier.verify(
                    line, isTooLong: isTooLong || line.count > AuditVerifier.maximumLineBytes, at: "\(path):\(number)")
                line.removeAll(keepingCapacity: true)
                isTooLong = false
                number += 1
                rest = rest[(end + 1)...]
            }
            if line.count + rest.count > AuditVerifier.maximumLineBytes { isTooLong = true } else { line += rest }
            done += count
            progress.update(done)
        }
        progress.clear()
        if !line.isEmpty || isTooLong { verifier.endsWithinALine(at: "\(path):\(number)") }
    }
}
