package import CloakroomLoop
package import CloakroomRedis

/// Whether Redis does what requests need of it: a server may respond and yet refuse every count.
///
/// It runs the workers' own scripts from time to time, and as soon as a request was refused; one refused key alone does
/// not make it unhealthy.
@LoopActor
package final class RedisHealth {
    private let redis: RedisConnection
    private let selfTest: RedisSelfTest
    private let log: Log
    private var refusal: RedisSelfTest.Refusal?
    private var isChecking = false

    /// Called with what refused a script of ours; the word is for a metric.
    package var onRefusal: (@LoopActor (RedisError) -> Void)?

    package init(redis: RedisConnection, selfTest: RedisSelfTest, log: Log) {
        self.redis = redis
        self.selfTest = selfTest
        self.log = log
    }

    /// In words, beginning with Redis' own word for it; `nil` when all is well.
    package var fault: String? {
        guard redis.isReady else { return redis.refusal?.sentence ?? "no connection" }
        return refusal?.error.sentence
    }

    /// Takes note that a request was not served.
    package func failed(_ error: RedisError) {
        // While Redis is unwell every request comes here: a check that is running needs no task beside it.
        guard case .refused = error, !isChecking else { return }
        LoopActor.spawn { [self] in await checkUntilWell() }
    }

    /// Checks every 15 seconds until the task is cancelled, and twice a second while something is wrong.
    package func watch() async {
        while !Task.isCancelled {
            await checkUntilWell()
            try? await LoopActor.sleep(for: .seconds(15))
        }
    }

    private func checkUntilWell() async {
        guard !isChecking else { return }
        isChecking = true
        defer { isChecking = false }
        repeat {
            await check()
            guard refusal != nil else { return }
            try? await LoopActor.sleep(for: .milliseconds(500))
        } while !Task.isCancelled
    }

    private func check() async {
        let found: RedisSelfTest.Refusal?
        do throws(RedisError) { found = try await selfTest.run(on: redis) } catch { return }
        if let found { onRefusal?(found.error) }
        guard found != refusal else { return }
        refusal = found
        if let found {
            log.warning(
                "Redis refuses commands",
                [
                    "code": .text(found.error.code ?? ""), "advice": .text(found.error.advice),
                    "for": .text(found.purpose),
                ])
        } else {
            log.info("Redis takes commands again")
        }
    }
}
