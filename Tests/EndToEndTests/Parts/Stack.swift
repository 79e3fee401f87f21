import Foundation
import Testing

/// Workers and what they need, for one test; everything started is stopped again, and every worker must have ended well.
final class Stack {
    struct Options {
        /// `nil`: one worker without a supervisor.
        var workers: Int?
        /// Where it listens, if not at ``Stack/socket(_:)``.
        var listen: String?
        var nginx = false
        var redis = true
        /// Whether STS and S3 are there.
        var s3 = false
        /// What the workers' environment has besides the ordinary.
        var environment = TestSettings.environment
        /// A command line around the worker's, such as `ulimit -n 64; exec "$@"`.
        var shell: String?
        /// What the settings have otherwise than usual.
        var settings: (inout TestSettings) -> Void = { _ in }
        /// What happens in the stack's folder before the worker starts.
        var prepare: (Stack) throws -> Void = { _ in }
        /// Whether the workers are waited for.
        var waits = true
        /// The exit status that the worker must have in the end; `nil` when the test ends it by itself.
        var status: Int32? = 0
        /// Files of nginx/ that are other than they come, by name.
        var nginxFiles: (Stack) throws -> [String: String] = { _ in [:] }
    }

    let folder: String
    let options: Options
    private(set) var redis: StackRedis?
    private(set) var nginx: Nginx?
    private(set) var server: RunningProgram?

    /// Starts the parts, lets the test use them, stops them.
    static func run(_ name: String, _ options: Options = Options(), _ body: (Stack) throws -> Void) throws {
        let stack = try Stack(name, options)
        defer { stack.stop() }
        do {
            try stack.start()
            try body(stack)
        } catch {
            stack.explain()
            throw error
        }
    }

    /// The same for a test that awaits.
    static func run(
        _ name: String, _ options: Options = Options(), _ body: (Stack) async throws -> Void
    ) async throws {
        let stack = try Stack(name, options)
        defer { stack.stop() }
        do {
            try stack.start()
            try await body(stack)
        } catch {
            stack.explain()
            throw error
        }
    }

    /// What a failure needs to be understood; the folder itself is removed.
    private func explain() { print("The log in \(folder):\n\(log.suffix(3000))") }

    private init(_ name: String, _ options: Options) throws {
        folder = try RunFolder.make(name)
        self.options = options
    }

    // MARK: Where things are

    var settingsFile: String { "\(folder)/settings.json5" }
    var auditFile: String { "\(folder)/audit.log" }
    var log: String { RunFolder.text(of: logFile) }
    var logFile: String { "\(folder)/worker.log" }

    /// - Parameter number: from 1.
    func socket(_ number: Int = 1) -> String { "\(folder)/worker-\(number).sock" }

    /// Log lines as JSON, those with this message.
    func logLines(_ message: String) -> [[String: Any]] {
        log.split(separator: "\n").compactMap {
            (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
        }
        .filter { $0["message"] as? String == message }
    }

    /// The log's warnings and errors, for the message of a test that fails.
    var warnings: String {
        let lines = log.split(separator: "\n").filter {
            $0.contains(#""level":"warning""#) || $0.contains(#""level":"error""#)
        }
        return "\n" + lines.suffix(20).joined(separator: "\n")
    }

    // MARK: Asking

    /// Past nginx.
    func ask(_ ask: TestRequest, worker: Int = 1) throws -> TestResponse {
        try FastCGIClient.ask(path: socket(worker), ask)
    }

    /// Through nginx.
    func askNginx(_ ask: TestRequest) throws -> TestResponse {
        guard let nginx else { throw MissingProgramError(description: "this stack has no nginx") }
        return try nginx.ask(ask)
    }

    /// The worker processes of the supervisor.
    var workers: [pid_t] { server.map { ProcessTable.children(of: $0.pid) } ?? [] }

    // MARK: Starting and stopping

    private func start() throws {
        try writeSettings()
        if options.redis { redis = try StackRedis(folder: folder) }
        try options.prepare(self)
        try startServer()
        if options.nginx {
            nginx = try Nginx(
                folder: folder, workers: (1...(options.workers ?? 1)).map { socket($0) },
                files: options.nginxFiles(self))
        }
    }

    func writeSettings(_ change: (inout TestSettings) -> Void = { _ in }) throws {
        // Nobody listens on the discard port.
        let upstream = options.s3 ? try EndToEnd.s3().url : "http://127.0.0.1:9"
        var settings = TestSettings(folder: folder, upstream: upstream)
        options.settings(&settings)
        change(&settings)
        try settings.write(to: settingsFile)
    }

    /// Starts the worker or the supervisor; returns when it answers.
    func startServer() throws {
        let listen = [options.listen ?? "unix:" + (options.workers == nil ? socket() : "\(folder)/worker-%d.sock")]
        let workers = options.workers.map { ["--workers", String($0)] } ?? []
        let command = [try Programs.worker, "serve", "--listen"] + listen + workers + [settingsFile]
        let words = options.shell.map { ["/bin/sh", "-c", $0, "sh"] + command } ?? command
        let server = try RunningProgram(
            words[0], Array(words.dropFirst()), output: logFile, environment: options.environment)
        self.server = server
        guard options.waits else { return }
        for number in 1...(options.workers ?? 1) {
            try wait(for: "worker \(number)", within: .seconds(15)) {
                guard server.isRunning else { throw MissingProgramError(description: "the worker ended: \(log)") }
                return (try? ask(.health, worker: number))?.status == 200
            }
        }
    }

    /// Waits until Redis, STS and S3 answer the worker.
    func waitUntilReady(worker: Int = 1) throws {
        try wait(for: "readiness", within: .seconds(10)) { (try? ask(.ready, worker: worker))?.status == 200 }
    }

    func stop() {
        nginx?.stop()
        if let server {
            let status = server.stop(within: .seconds(10))
            if let expected = options.status {
                #expect(status == expected, "the end of the worker in \(folder): \(log.suffix(1000))")
            }
        }
        redis?.stop()
        // Workers that outlived their supervisor.
        let survivors = ProcessTable.naming("\(folder)/")
        #expect(survivors == [])
        for process in survivors { kill(process, SIGKILL) }
        (nginx, server, redis) = (nil, nil, nil)
    }
}
