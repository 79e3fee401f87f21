import Loop
import Redis
import Support

/// Connections of tests, each closed at its test's end.
@LoopActor
func withRedis<Value>(
    _ path: String, timeout: Duration = .seconds(5), _ change: (inout RedisConnection.Options) -> Void = { _ in },
    _ body: @LoopActor (RedisConnection) async throws -> Value
) async throws -> Value {
    var options = RedisConnection.Options(address: .unix(path: path))
    options.timeout = timeout
    options.retryInterval = .milliseconds(20)
    change(&options)
    let redis = RedisConnection(options: options)
    defer { redis.close() }
    return try await body(redis)
}

extension RedisConnection {
    func outcome(_ words: String...) async -> Result<RedisReply, RedisError> {
        do throws(RedisError) { return .success(try await send(RedisCommand(words))) } catch { return .failure(error) }
    }

    func send(_ first: RedisCommand, beside second: RedisCommand) async -> (RedisOutcome, RedisOutcome) {
        await withCheckedContinuation { continuation in
            send(first, beside: second) { continuation.resume(returning: ($0, $1)) }
        }
    }

    func run(_ call: RedisScript.Call, beside command: RedisCommand) async -> (RedisOutcome, RedisOutcome?) {
        await withCheckedContinuation { continuation in
            run(call, beside: command) { continuation.resume(returning: ($0, $1)) }
        }
    }

    /// - Returns: whether it was ready before the limit.
    func becomesReady(within limit: Duration) async -> Bool {
        let start = ContinuousClock.now
        while !isReady {
            guard ContinuousClock.now - start < limit else { return false }
            try? await LoopActor.sleep(for: .milliseconds(1))
        }
        return true
    }
}
