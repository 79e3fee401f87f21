import Loop

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
        try await withCheckedContinuation { continuation in
            run(call, beside: nil) { outcome, _ in continuation.resume(returning: outcome) }
        }.get()
    }

    /// The same, perhaps together with another command: one round trip for both, unless the server has forgotten the
    /// script.
    ///
    /// - Parameter completion: called once with what the script and the command came to; before this returns if there
    ///   is no connection.
    package func run(
        _ call: RedisScript.Call, beside command: RedisCommand?,
        _ completion: @escaping @LoopActor (_ script: RedisOutcome, _ command: RedisOutcome?) -> Void
    ) {
        guard let command else {
            return send(call.short) { [self] outcome in known(outcome, call) { completion($0, nil) } }
        }
        send(call.short, beside: command) { [self] outcome, other in known(outcome, call) { completion($0, other) } }
    }

    /// Runs the script by its text if the server did not know it.
    private func known(
        _ outcome: RedisOutcome, _ call: RedisScript.Call, _ completion: @escaping @LoopActor (RedisOutcome) -> Void
    ) {
        guard case .failure(.refused(code: "NOSCRIPT")) = outcome else { return completion(outcome) }
        send(call.whole, completion)
    }
}
