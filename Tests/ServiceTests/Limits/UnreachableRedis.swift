import CloakroomLoop
import CloakroomRedis

/// A Redis that nobody can reach.
final class UnreachableRedis: RedisClient {
    let isReady = false
    let refusal: RedisError? = nil
    let pendingCount = 0
    let currentServers: [RedisAddress] = []
    var onRepeat: (@LoopActor () -> Void)?

    func send(_ request: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
        completion(.failure(.unavailable))
    }

    func settle(within limit: Duration) async {}
    func close() {}
}
