/// A Lua script, run by its SHA-1 and sent whole only when the server does not know it (`EVALSHA`, redis.io).
package struct RedisScript: Sendable {
    /// The script with its keys and arguments, ready to be sent any number of times.
    package struct Call: Sendable {
        fileprivate let short: RedisCommand
        fileprivate let script: RedisScript

        /// The same by the text: made from the short one, because thousands of calls are kept and hardly one is ever
        /// sent so.
        fileprivate var whole: RedisCommand { script.whole(short) }
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

    private func whole(_ short: RedisCommand) -> RedisCommand {
        short.replacing(leading: RedisCommand(["EVALSHA", digest]), by: RedisCommand(["EVAL", source]))
    }
}

extension RedisConnection {
    /// The server forgets scripts when it restarts, fails over or is told to: then it is given the text again.
    package func run(_ call: RedisScript.Call) async throws(RedisError) -> RedisReply {
        do {
            return try await send(call.short)
        } catch .refused(code: "NOSCRIPT") {
            return try await send(call.whole)
        }
    }

    /// The same together with another command: one round trip for both, unless the server has forgotten the script.
    package func run(
        _ call: RedisScript.Call, beside command: RedisCommand
    ) async -> (script: Result<RedisReply, RedisError>, command: Result<RedisReply, RedisError>) {
        let outcomes = await send(call.short, beside: command)
        guard case .failure(.refused(code: "NOSCRIPT")) = outcomes.0 else { return outcomes }
        do throws(RedisError) {
            return (.success(try await send(call.whole)), outcomes.1)
        } catch {
            return (.failure(error), outcomes.1)
        }
    }
}
