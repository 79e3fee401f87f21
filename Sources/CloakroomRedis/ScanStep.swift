import CloakroomCrypto
import CloakroomLoop

/// One step of one server through its keys (redis.io, SCAN), and which process took it.
///
/// Each process orders its keys by a hash with a random seed: the number that one ended with is another place in any
/// other, and a walk that went on there would leave keys out.
struct ScanStep {
    let keys: [String]
    /// The server's own number, where to go on; "0" at the end.
    let next: String
    /// Its `run_id`; `nil` where it does not tell.
    let process: String?

    /// - Parameter replies: to `SCAN` and `INFO server`.
    init(_ replies: inout RedisReplyCursor) throws(RedisError) {
        if let refusal = replies.refusal { throw refusal }
        guard case .array(let parts) = RedisReply(&replies), parts.count == 2, let next = parts[0].string,
            case .array(let elements) = parts[1]
        else { throw .refused(code: "MALFORMED") }
        self.next = next
        keys = elements.compactMap { $0.string }
        replies.goTo(reply: 1)
        process = RedisReply(&replies).string.flatMap { RedisInfo($0)["run_id"] }
    }

    /// The keys, and the cursor for the next step: a digest of the server, and the number.
    ///
    /// - Parameters:
    ///   - cursor: of this step. A number alone is of no known server.
    ///   - server: what the digest is of; `nil` for a number alone.
    /// - Throws: when the cursor names another server.
    func page(after cursor: String, of server: String?) throws(RedisError) -> (keys: [String], next: String) {
        // As a cluster's map has: the first eight bytes of a SHA-256, in hexadecimal.
        let digest = server.map { String(SHA256.hash($0.utf8).hexadecimal.prefix(16)) }
        if let colon = cursor.firstIndex(of: ":"), String(cursor[..<colon]) != digest { throw .noCursor }
        guard next != "0", let digest else { return (keys, next) }
        return (keys, "\(digest):\(next)")
    }
}

extension RedisClient {
    /// One step on the server that requests go to now, which gets the number of the cursor.
    func scanStep(from cursor: String, matching pattern: String) async throws(RedisError) -> ScanStep {
        let number = cursor.split(separator: ":").last.map { String($0) } ?? cursor
        let scan = RedisCommand(["SCAN", number, "MATCH", pattern, "COUNT", "1000"])
        // In one request: both replies are of the same process then.
        let request = RedisRequest(scan, RedisCommand(["INFO", "server"]), mayRepeat: true)
        let response: RedisResponse = await withCheckedContinuation { continuation in
            send(request) { continuation.resume(returning: $0) }
        }
        switch response {
        case .failure(let error): throw error
        case .reply(var replies): return try ScanStep(&replies)
        }
    }
}

extension RedisError {
    /// The server is another one than that which a cursor names; the word is ours.
    static let noCursor = RedisError.refused(code: "NOCURSOR")
}
