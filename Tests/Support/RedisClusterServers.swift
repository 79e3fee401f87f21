import Foundation
import Synchronization

/// A real Redis Cluster on loopback ports: three primaries, each with as many replicas as there are to be. What is started
/// here is ended here.
package final class RedisClusterServers: Sendable {
    private let folder: TemporaryFolder
    /// The primaries of the beginning come first.
    package let ports: [UInt16]
    private let nodeTimeout: Int
    private let options: [String]
    private let programs = Mutex<[UInt16: Program]>([:])

    package static let primaries = 3

    /// Blocks the thread until all slots have a server.
    ///
    /// - Parameters:
    ///   - replicas: of each primary.
    ///   - nodeTimeout: milliseconds without a word, after which a node takes another for down.
    ///   - options: of each server.
    package init(replicas: Int = 1, nodeTimeout: Int = 1000, options: [String] = []) throws {
        folder = try TemporaryFolder()
        self.nodeTimeout = nodeTimeout
        self.options = options
        ports = Self.freePorts(Self.primaries * (1 + replicas))
        for port in ports { try start(port) }
        try command(
            ["--cluster", "create"] + ports.map { "127.0.0.1:\($0)" }
                + ["--cluster-replicas", "\(replicas)", "--cluster-yes"])
        // A new primary takes no writes for its first two seconds.
        for port in ports {
            let end = ContinuousClock.now + .seconds(60)
            while try !command(["-p", "\(port)", "CLUSTER", "INFO"]).contains("cluster_state:ok") {
                guard ContinuousClock.now < end else { throw Failure(description: "node \(port) does not serve") }
                usleep(50_000)
            }
        }
    }

    deinit { for program in programs.withLock({ Array($0.values) }) { program.kill() } }

    /// Starts a server with what it knew of the cluster last, and no data.
    package func start(_ port: UInt16) throws {
        let program = try Program(
            "redis-server", variable: "CLOAKROOM_REDIS_SERVER",
            arguments: [
                "--port", "\(port)", "--bind", "127.0.0.1", "--dir", folder.path, "--save", "", "--appendonly", "no",
                "--dbfilename", "\(port).rdb", "--cluster-enabled", "yes", "--cluster-config-file", "\(port).conf",
                "--cluster-node-timeout", "\(nodeTimeout)", "--repl-diskless-sync-delay", "0",
            ] + options, until: RedisServer.announcement)
        programs.withLock { $0[port] = program }
    }

    /// `kill -9`
    package func kill(_ port: UInt16) { programs.withLock { $0.removeValue(forKey: port) }?.kill() }

    package func pause(_ port: UInt16) { programs.withLock { $0[port] }?.signal(SIGSTOP) }

    package func resume(_ port: UInt16) { programs.withLock { $0[port] }?.signal(SIGCONT) }

    /// The replica of the primary that has a key.
    package func replica(ofKey key: String) throws -> UInt16? {
        let slot = Int(try line(["-p", "\(ports[0])", "CLUSTER", "KEYSLOT", key])) ?? -1
        let nodes = try command(["-p", "\(ports[0])", "CLUSTER", "NODES"]).split(separator: "\n").map { line in
            line.split(separator: " ").map(String.init)
        }
        let primary = nodes.first { words in
            words.dropFirst(8).contains { range in
                let ends = range.split(separator: "-").compactMap { Int($0) }
                return ends.count == 2 && (ends[0]...ends[1]).contains(slot)
            }
        }
        let replica = nodes.first { $0.count > 3 && $0[3] == primary?[0] && $0[2].contains("slave") }
        return replica?[1].split(separator: "@").first?.split(separator: ":").last.flatMap { UInt16($0) }
    }

    /// A node's name in the cluster.
    package func name(of port: UInt16) throws -> String { try line(["-p", "\(port)", "CLUSTER", "MYID"]) }

    /// What redis-cli prints, as one line.
    private func line(_ arguments: [String]) throws -> String {
        try command(arguments).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Runs redis-cli to its end.
    ///
    /// - Returns: what it printed.
    @discardableResult
    package func command(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["redis-cli"] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(description: said) }
        return said
    }

    package struct Failure: Error, CustomStringConvertible { package let description: String }

    /// Ports whose bus ports, 10,000 above, are below those that the kernel gives to outgoing connections.
    private static func freePorts(_ count: Int) -> [UInt16] {
        var ports: [UInt16] = []
        while ports.count < count {
            let port = UInt16.random(in: 12_000..<20_000)
            guard LoopbackPort.isFree(port), LoopbackPort.isFree(port + 10_000), !ports.contains(port) else { continue }
            ports.append(port)
        }
        return ports
    }
}
