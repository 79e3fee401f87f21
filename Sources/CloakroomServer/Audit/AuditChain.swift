import CloakroomCrypto
import CloakroomJSON

/// What ties a worker's audit lines together: each carries the SHA-256 of the whole line before it.
///
/// A chain begins with a process, and again where it is not known whether a line was kept. Its first line says which
/// worker it is and which chain it follows.
struct AuditChain: Sendable, Equatable {
    static let idLength = 16

    let id: String
    let worker: String
    let process: Int
    /// The chain before, of the same process.
    let follows: String?
    /// Of the last line; 0 before the first.
    private(set) var sequence = 0
    /// The last line's digest.
    private(set) var digest: [UInt8]?

    /// - Parameter id: 16 hexadecimal digits that no other chain has.
    init(id: String, worker: String, process: Int, follows: String? = nil) {
        self.id = id
        self.worker = worker
        self.process = process
        self.follows = follows
    }

    func successor(id: String) -> AuditChain {
        AuditChain(id: id, worker: worker, process: process, follows: self.id)
    }

    /// Writes the members that tie the next line to the last.
    private func tie(_ writer: inout JSONWriter) {
        writer.member("chain", id)
        writer.member("sequence", sequence + 1)
        if let digest {
            writer.plainName("previous")
            writer.plainString(count: 2 * digest.count) { $0.append(hexadecimal: digest) }
            return
        }
        writer.plainName("start")
        writer.beginObject()
        writer.member("worker", worker)
        writer.member("process", process)
        if let follows { writer.member("follows", follows) }
        writer.endObject()
    }

    /// Ties a line to the last one, ends it, and takes it.
    ///
    /// - Parameters:
    ///   - line: without its tie, its closing brace and its line feed.
    ///   - lines: get the whole line.
    mutating func append(_ line: ArraySlice<UInt8>, to lines: inout JSONWriter, hashing hash: inout SHA256) {
        let start = lines.bytes.count
        lines.resume(line)
        tie(&lines)
        lines.endObject()
        advance(past: lines.bytes[start...], hashing: &hash)
        lines.endLine()
    }

    /// - Parameter line: as it is written, without its line feed.
    mutating func advance(past line: ArraySlice<UInt8>, hashing hash: inout SHA256) {
        sequence += 1
        line.withUnsafeBytes { hash.update($0) }
        digest = hash.finalize()
    }
}
