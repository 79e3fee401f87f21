import Foundation
import Synchronization

/// Real Redis servers on loopback ports, the first of which begins as the master of the others, and sentinels that watch
/// it. What is started here is ended here.
package final class RedisSentinelServers: Sendable {
    package static let master = "main"

    private let folder: TemporaryFolder
    /// Of the servers, the master's first.
    package let servers: [UInt16]
    package let sentinels: [UInt16]
    private let options: [String]
    private let tls: TestCertificate?
    private let replicaHost: String
    /// Of the sentinels' connections when the master is behind a proxy, so that it knows them.
    package static let sentinelSource = "127.0.0.2"
    private let programs = Mutex<[UInt16: Program]>([:])

    /// Blocks the thread until all listen.
    ///
    /// - Parameters:
    ///   - downAfter: milliseconds without a reply, after which a sentinel takes a server for down. Sentinels connect again
    ///     once a second: with less they take a new master for down at once.
    ///   - options: of each server.
    ///   - host: a name of 127.0.0.1, which the sentinels then announce, or that itself.
    ///   - replicaHost: the same for what the replicas say of themselves.
    ///   - tls: of all servers and sentinels, in place of plain bytes.
    ///   - proxy: makes one for the master's port; the sentinels watch and announce the port that is returned.
    package init(
        replicas: Int = 2, sentinels: Int = 3, downAfter: Int = 1000, options: [String] = [],
        host: String = "127.0.0.1", replicaHost: String = "127.0.0.1", tls: TestCertificate? = nil,
        proxy: ((UInt16) throws -> UInt16)? = nil
    ) throws {
        folder = try TemporaryFolder()
        self.options = options
        self.tls = tls
        self.replicaHost = replicaHost
        let ports = Self.freePorts(1 + replicas + sentinels)
        servers = Array(ports.prefix(1 + replicas))
        self.sentinels = Array(ports.suffix(sentinels))
        for port in servers { try startServer(port, following: port == servers[0] ? nil : servers[0]) }
        let monitored = try proxy?(servers[0]) ?? servers[0]
        for sentinel in self.sentinels {
            // What sentinels else find out within seconds: the replicas, and each other.
            var lines = listening(on: sentinel).map { "\($0) \($1)" }
            if host != "127.0.0.1" { lines += ["sentinel resolve-hostnames yes", "sentinel announce-hostnames yes"] }
            if proxy != nil {
                lines += ["bind-source-addr \(Self.sentinelSource)", "sentinel announce-ip 127.0.0.1"]
            }
            lines += [
                "sentinel myid \(Self.identifier(sentinel))",
                "sentinel monitor \(Self.master) \(host) \(monitored) \(sentinels / 2 + 1)",
                "sentinel down-after-milliseconds \(Self.master) \(downAfter)",
                "sentinel failover-timeout \(Self.master) 5000",
            ]
            lines += servers.dropFirst().map { "sentinel known-replica \(Self.master) \(replicaHost) \($0)" }
            lines += self.sentinels.filter { $0 != sentinel }.map {
                "sentinel known-sentinel \(Self.master) 127.0.0.1 \($0) \(Self.identifier($0))"
            }
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(
                to: URL(fileURLWithPath: folder["\(sentinel).conf"]))
            try startSentinel(sentinel)
        }
    }

    deinit { for program in programs.withLock({ Array($0.values) }) { program.kill() } }

    // MARK: Faults

    /// `kill -9`
    package func kill(_ port: UInt16) { programs.withLock { $0.removeValue(forKey: port) }?.kill() }

    package func kill(_ ports: [UInt16]) { for port in ports { kill(port) } }

    /// The address that a sentinel without TLS names.
    package func namedMaster(by sentinel: UInt16) throws -> String {
        try Program.run("redis-cli", ["-p", "\(sentinel)", "SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self.master])
    }

    package func pause(_ port: UInt16) { programs.withLock { $0[port] }?.signal(SIGSTOP) }

    package func resume(_ port: UInt16) { programs.withLock { $0[port] }?.signal(SIGCONT) }

    /// Starts a server as if it had been a master last, without data.
    package func startServer(_ port: UInt16, following master: UInt16? = nil) throws {
        var arguments = listening(on: port).flatMap { ["--\($0)", $1] }
        arguments += [
            "--save", "", "--appendonly", "no", "--dbfilename", "\(port).rdb", "--repl-diskless-sync-delay", "0",
        ]
        if let master {
            arguments += ["--replicaof", "127.0.0.1", "\(master)"]
            if replicaHost != "127.0.0.1" { arguments += ["--replica-announce-ip", replicaHost] }
        }
        let program = try Program(
            "redis-server", variable: "CLOAKROOM_REDIS_SERVER", arguments: arguments + options,
            until: RedisServer.announcement)
        programs.withLock { $0[port] = program }
    }

    /// Starts a sentinel with what it knew last.
    package func startSentinel(_ port: UInt16) throws {
        let program = try Program(
            "redis-server", variable: "CLOAKROOM_REDIS_SERVER",
            arguments: [folder["\(port).conf"], "--sentinel"], until: "Sentinel ID is")
        programs.withLock { $0[port] = program }
    }

    /// Options of servers and sentinels alike.
    private func listening(on port: UInt16) -> [(String, String)] {
        let all = [("bind", "127.0.0.1"), ("dir", folder.path)]
        guard let tls else { return [("port", "\(port)")] + all }
        return all + [
            ("port", "0"), ("tls-port", "\(port)"), ("tls-replication", "yes"), ("tls-auth-clients", "no"),
            ("tls-key-file", tls.key), ("tls-cert-file", tls.certificate), ("tls-ca-cert-file", tls.certificate),
        ]
    }

    // MARK: Ports

    private static func identifier(_ port: UInt16) -> String { String(repeating: "0", count: 35) + "\(port)" }

    /// Ports of five digits that nothing listens on, below those that the kernel gives to outgoing connections.
    private static func freePorts(_ count: Int) -> [UInt16] {
        var ports: [UInt16] = []
        while ports.count < count {
            let port = UInt16.random(in: 20_000..<32_000)
            if !ports.contains(port), LoopbackPort.isFree(port) { ports.append(port) }
        }
        return ports
    }
}
