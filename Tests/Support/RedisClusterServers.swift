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
            ] + options, until: "Ready to accept connections")
        programs.withLock { $0[port] = program }
    }

    /// `kill -9`
    package func kill(_ port: UInt16) { programs.withLock { $0.removeValue(forKey: port) }?.kill() }

    package func pause(_ port: UInt16) { programs.withLock { $0[port] }?.signal(SIGSTOP) }

    package func resume(_ port: UInt16) { programs.withLock { $0[port] }?.signal(SIGCONT) }

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
            if !ports.contains(port), LoopbackPort.isFree(port), LoopbackPort.isFree(port + 10_000) { ports.append(port) }
        }
        return ports
    }
}
