import Glibc
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// Reads the lines of a file of any size, a piece at a time.
struct AuditFileReader {
    enum AuditFileReadError: Error, CustomStringConvertible {
        case system(path: String, reason: SystemError)
        /// By gzip: nothing of it was read.
        case compressed(path: String)

        var description: String {
            switch self {
            case .system(let path, let reason): "\(path): \(reason)"
            case .compressed(let path):
                "\(path) is compressed with gzip, so no line of it was verified; give all files, oldest first, by:"
                    + " zcat -f OLDEST … NEWEST | cloakroom audit verify -"
            }
        }
    }

    /// `-` for standard input.
    let path: String
    private let standardInput: Int32
    private static let pieceSize = 1 << 18
    /// RFC 1952, section 2.3.1.
    private static let gzip: [UInt8] = [0x1F, 0x8B]

    init(path: String, standardInput: Int32 = STDIN_FILENO) {
        self.path = path
        self.standardInput = standardInput
    }

    func read(into verifier: inout AuditVerifier) throws(AuditFileReadError) {
        let isStandardInput = path == "-"
        let path = isStandardInput ? "standard input" : self.path
        let file: Descriptor
        do {
            file = try Descriptor(
                checking: isStandardInput ? dup(standardInput) : open(path, O_RDONLY | O_CLOEXEC))
        } catch {
            throw .system(path: path, reason: error)
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
            guard count >= 0 else { throw .system(path: path, reason: SystemError(code: errno)) }
            guard count > 0 else { break }
            if done == 0, piece[..<count].starts(with: Self.gzip) {
                progress.clear()
                throw .compressed(path: path)
            }
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
