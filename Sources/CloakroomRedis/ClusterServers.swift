import CloakroomLoop

/// Connections to the servers of a cluster: to each primary, and for some seconds to others that still have replies to
/// give, or that a slot is moving to.
@LoopActor
final class ClusterServers {
    /// How long a connection is kept that is to no primary, after the last redirection to it.
    private static let retention: Duration = .seconds(5)

    private let options: RedisConnection.Options
    private var connections: [RedisAddress: RedisConnection] = [:]
    private var primaries: [RedisAddress] = []
    /// Until when those are kept that are to no primary.
    private var ends: [RedisAddress: UInt64] = [:]
    /// Called for each new one.
    var onConnection: (@LoopActor (RedisConnection, RedisAddress) -> Void)?

    /// - Parameter options: of each connection; its address is replaced.
    init(options: RedisConnection.Options) { self.options = options }

    /// To a server that a request is redirected to.
    func redirectionTarget(_ address: RedisAddress) -> RedisConnection {
        if !primaries.contains(address) { ends[address] = Monotonic.now &+ Self.retention.nanoseconds }
        return self[address]
    }

    subscript(address: RedisAddress) -> RedisConnection {
        if let known = connections[address] { return known }
        var options = options
        options.address = address
        let new = RedisConnection(options: options)
        connections[address] = new
        onConnection?(new, address)
        return new
    }

    /// Closes what is of no use any longer.
    ///
    /// - Parameter next: is given each request that waits for a reply there.
    func keep(_ primaries: [RedisAddress], movingTo next: @LoopActor (PendingRedisRequest) -> Void) {
        let now = Monotonic.now
        self.primaries = primaries
        for primary in primaries { ends[primary] = nil }
        for (address, connection) in connections where !primaries.contains(address) {
            // A primary that has been replaced still replies to what was sent before.
            let end = ends[address] ?? (connection.isReady ? now &+ Self.retention.nanoseconds : now)
            ends[address] = end
            guard end <= now else { continue }
            connections[address] = nil
            ends[address] = nil
            connection.close(movingTo: next)
        }
    }

    func close() { for connection in connections.values { connection.close() } }
}
