import CloakroomCrypto
import StrictJSON

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
    /// The last line's digest, in hexadecimal.
    private(set) var digest: String?

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
        writer.plainName("chain")
        writer.string(id)
        writer.plainName("sequence")
        writer.integer(sequence + 1)
        if let digest {
            writer.plainName("previous")
            writer.string(digest)
            return
        }
        writer.plainName("start")
        writer.beginObject()
        writer.plainName("worker")
        writer.string(worker)
        writer.plainName("process")
        writer.integer(process)
        if let follows {
            writer.plainName("follows")
            writer.string(follows)
        }
        writer.endObject()
    }

    /// Ties a line to the last one, ends it, and takes it.
    ///
    /// - Parameter line: without its tie and its closing brace.
    mutating func append(_ line: inout JSONWriter) {
        tie(&line)
        line.endObject()
        append(line.bytes)
    }

    /// - Parameter line: as it is written, without its line feed.
    mutating func append(_ line: [UInt8]) {
        sequence += 1
        digest = SHA256.hash(line).hexadecimal
    }
}
