/// A Lua script, run by its SHA-1 and sent whole only when the server does not know it (`EVALSHA`, redis.io).
package struct RedisScript: Sendable {
    /// The script with its keys and arguments, ready to be sent any number of times.
    package struct Call: Sendable {
        let short: RedisCommand
        let script: RedisScript
    }

    private let source: String
    private let digest: String

    /// - Parameter digest: SHA-1 of `source` in hexadecimal, as Redis names it.
    package init(source: String, digest: String) {
        self.source = source
        self.digest = digest
    }

    package func call(keys: [String], arguments: [String]) -> Call {
        Call(short: RedisCommand(["EVALSHA", digest, String(keys.count)] + keys + arguments), script: self)
    }

    /// The same call by the text.
    func whole(_ short: RedisCommand) -> RedisCommand {
        short.replacing(leading: RedisCommand(["EVALSHA", digest]), by: RedisCommand(["EVAL", source]))
    }
}

extension RedisConnection {
    /// - Throws: as ``send(_:)``; a server that does not know the script is given its text.
    package func run(_ call: RedisScript.Call) async throws(RedisError) -> RedisReply {
        try await outcome(of: RedisRequest(call)).get()
    }
}
