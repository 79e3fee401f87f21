import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport

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

extension RedisClient {
    func outcome(_ words: String...) async -> Result<RedisReply, RedisError> {
        do throws(RedisError) { return .success(try await send(RedisCommand(words))) } catch { return .failure(error) }
    }

    /// What came of each part of a request.
    func outcomes(_ request: RedisRequest) async -> [RedisOutcome] {
        await withCheckedContinuation { continuation in
            send(request) { response in
                switch response {
                case .failure(let error): continuation.resume(returning: [.failure(error)])
                case .reply(var cursor):
                    let outcomes = (0..<request.replies).map { number in
                        cursor.goTo(reply: number)
                        return RedisOutcome(cursor)
                    }
                    continuation.resume(returning: outcomes)
                }
            }
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

extension RedisOutcome {
    init(_ cursor: RedisReplyCursor) {
        var cursor = cursor
        self = cursor.refusal.map { .failure($0) } ?? .success(RedisReply(&cursor))
    }
}
