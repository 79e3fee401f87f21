/// A Lua script, run by its SHA-1 and sent whole only when the server does not know it (`EVALSHA`, redis.io).
package struct RedisScript: Sendable {
    private let source: String
    private let digest: String

    /// - Parameter digest: SHA-1 of `source` in hexadecimal, as Redis names it.
    package init(source: String, digest: String) {
        self.source = source
        self.digest = digest
    }

    fileprivate func command(keys: [String], arguments: [String]) -> RedisCommand {
        RedisCommand(["EVALSHA", digest, String(keys.count)] + keys + arguments)
    }

    fileprivate func wholeCommand(keys: [String], arguments: [String]) -> RedisCommand {
        RedisCommand(["EVAL", source, String(keys.count)] + keys + arguments)
    }
}

extension RedisConnection {
    /// The server forgets scripts when it restarts, fails over or is told to: then it is given the text again.
    package func run(
        _ script: RedisScript, keys: [String], arguments: [String]
    ) async throws(RedisError) -> RedisReply {
        do {
            return try await send(script.command(keys: keys, arguments: arguments))
        } catch .refused(code: "NOSCRIPT") {
            return try await send(script.wholeCommand(keys: keys, arguments: arguments))
        }
    }
}
