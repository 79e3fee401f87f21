package import CloakroomLoop

/// What sends requests to Redis, however many servers that is: one, by a ``RedisConnection``, or what finds its way to
/// several.
@LoopActor
package protocol RedisClient: AnyObject {
    /// Whether requests get replies.
    var isReady: Bool { get }

    /// Why the server takes no connection, if it has said so or TLS with it has failed; also while ``isReady``, of the one that
    /// should take the place of a server which is the master no longer.
    var refusal: RedisError? { get }

    /// Requests without a reply yet.
    var pendingCount: Int { get }

    /// The servers that requests go to now: one, or the primaries of a cluster; none while they are not known.
    var currentServers: [RedisAddress] { get }

    /// For each server that keys lie on now, what a key has to have in braces to lie there: one for the only server,
    /// which is not named, or that of each primary of a cluster.
    var keyTags: [(server: RedisAddress?, tag: String)] { get }

    /// Called for each request that is sent again because its reply was lost: Redis may have done it twice.
    var onRepeat: (@LoopActor () -> Void)? { get set }

    /// - Parameter completion: called once; before this returns if the request is refused. What it reads of the response
    ///   costs no allocation.
    func send(_ request: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void)

    /// One step through the keys that a pattern fits (redis.io, SCAN); some may come twice.
    ///
    /// - Parameter cursor: "0" begins; then what the step before gave.
    /// - Returns: keys, and where to go on; "0" at the end.
    /// - Throws: also when the cursor is of another server, or of one that has restarted since: keys would be left out.
    func scan(
        from cursor: String, matching pattern: String
    ) async throws(RedisError) -> (keys: [String], next: String)

    /// Returns when the first attempt to connect has succeeded or failed, or the time is up.
    func settle(within limit: Duration) async

    /// Refuses what has no reply yet, and all that comes after.
    func close()
}

extension RedisClient {
    package var keyTags: [(server: RedisAddress?, tag: String)] { [(server: nil, tag: "0")] }

    /// - Throws: also for an error reply of the server's.
    package func send(_ command: RedisCommand) async throws(RedisError) -> RedisReply {
        try await outcome(of: RedisRequest(command)).get()
    }

    /// Sends a command that changes nothing: see ``RedisRequest/mayRepeat``.
    package func read(_ command: RedisCommand) async throws(RedisError) -> RedisReply {
        try await outcome(of: RedisRequest(command, mayRepeat: true)).get()
    }

    /// - Throws: as ``send(_:)``; a server that does not know the script is given its text.
    package func run(_ call: RedisScript.Call) async throws(RedisError) -> RedisReply {
        try await outcome(of: RedisRequest(call)).get()
    }

    package func scan(
        from cursor: String, matching pattern: String
    ) async throws(RedisError) -> (keys: [String], next: String) {
        let step = try await scanStep(from: cursor, matching: pattern)
        return try step.page(after: cursor, of: step.process)
    }

    /// The first reply to a request.
    func outcome(of request: RedisRequest) async -> RedisOutcome {
        await withCheckedContinuation { continuation in
            send(request) { response in
                switch response {
                case .failure(let error): continuation.resume(returning: .failure(error))
                case .reply(var cursor):
                    continuation.resume(
                        returning: cursor.refusal.map { .failure($0) } ?? .success(RedisReply(&cursor)))
                }
            }
        }
    }
}
