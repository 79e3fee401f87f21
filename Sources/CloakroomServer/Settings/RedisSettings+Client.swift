import CloakroomCrypto
import CloakroomLoop
package import CloakroomRedis

extension Settings.Redis {
    /// How often a client looks whether all is as it was, with nothing amiss; `nil` for its own interval.
    package struct Intervals: Sendable {
        /// Between PINGs on an idle connection.
        package var keepAlive: Duration?
        /// Between two looks for the master, or at the map of a cluster.
        package var check: Duration?
        /// Between two requests for the master's replicas.
        package var replicas: Duration?

        package init() {}
    }
}

@LoopActor
extension Settings.Redis {
    /// For a worker.
    ///
    /// - Parameter log: is told where the master is, when sentinels say, and which primaries a cluster has.
    package func client(
        log: Log, intervals: Intervals = Intervals()
    ) throws(NoAuthoritiesError) -> any RedisClient {
        let client = try client(intervals: intervals) { $0.keepsSpare = true }
        (client as? RedisClusterClient)?.onMap = { primaries in
            let addresses = primaries.map(\.description).sorted().joined(separator: ", ")
            log.info("Redis Cluster has primaries", ["addresses": .text(addresses)])
        }
        (client as? RedisFailoverClient)?.onMaster = { address in
            log.info("Redis has a master", ["address": .text("\(address)")])
        }
        return client
    }

    /// For a command: a person waits for it, and no client, so that a slow Redis is better than none.
    ///
    /// - Parameter writes: whether a key may be written to find out which server is the master.
    package func clientForPeople(
        atLeast timeout: Duration, writes: Bool = true, intervals: Intervals = Intervals()
    ) throws(NoAuthoritiesError) -> any RedisClient {
        try client(writes: writes, intervals: intervals) { $0.timeout = max($0.timeout, timeout) }
    }

    /// For a command.
    ///
    /// - Returns: `nil` without sentinels.
    package func sentinelsForPeople(atLeast timeout: Duration) throws(NoAuthoritiesError) -> RedisSentinels.Options? {
        guard case .sentinels(let addresses, let master) = servers else { return nil }
        return sentinels(addresses, master, max(self.timeout, timeout), try trust())
    }

    private func sentinels(
        _ addresses: [RedisAddress], _ master: String, _ timeout: Duration, _ trust: RedisTLS?
    ) -> RedisSentinels.Options {
        var sentinels = RedisSentinels.Options(addresses: addresses, master: master)
        sentinels.username = sentinelUsername
        sentinels.password = sentinelPassword?.reveal()
        sentinels.timeout = max(sentinels.timeout, timeout)
        sentinels.tls = trust
        return sentinels
    }

    private func client(
        writes: Bool = true, intervals: Intervals, _ change: (inout RedisConnection.Options) -> Void
    ) throws(NoAuthoritiesError) -> any RedisClient {
        let trust = try trust()
        func options(to address: RedisAddress) -> RedisConnection.Options {
            var options = RedisConnection.Options(address: address)
            options.username = username
            options.password = password?.reveal()
            options.database = database
            options.timeout = timeout
            options.tls = trust
            if let interval = intervals.keepAlive { options.keepAliveInterval = interval }
            change(&options)
            return options
        }
        switch servers {
        case .single(let address): return RedisConnection(options: options(to: address))
        case .cluster(let nodes):
            var cluster = RedisClusterClient.Options(nodes: nodes, server: options(to: nodes[0]))
            if let interval = intervals.check { cluster.checkInterval = interval }
            return RedisClusterClient(options: cluster)
        case .sentinels(let addresses, let master):
            var failover = RedisFailoverClient.Options(
                sentinels: sentinels(addresses, master, timeout, trust), server: options(to: addresses[0]),
                trialKey: writes ? "\(keyPrefix)trial:{\(randomBytes(8).hexadecimal)}:master" : nil)
            if let interval = intervals.keepAlive { failover.sentinels.keepAliveInterval = interval }
            if let interval = intervals.check { failover.checkInterval = interval }
            if let interval = intervals.replicas { failover.replicasInterval = interval }
            return RedisFailoverClient(options: failover)
        }
    }

    private func trust() throws(NoAuthoritiesError) -> RedisTLS? {
        guard usesTLS else { return nil }
        guard let trust = RedisTLS(certificateAuthorities: certificateAuthorities) else {
            throw NoAuthoritiesError(file: certificateAuthorities)
        }
        return trust
    }
}

package struct NoAuthoritiesError: Error, CustomStringConvertible {
    /// `nil`: the system's.
    let file: String?

    package var description: String { "\(file ?? "the system") has no certificates to trust for Redis" }
}
