import Foundation
import Testing

extension EndToEnd {
    /// FAULTS rows 12 and 13: workers die, hang, are replaced and are told to stop, under load.
    @Suite struct Supervising {
        private static func pair(_ settings: @escaping (inout TestSettings) -> Void = { _ in }) -> Stack.Options {
            Stack.Options(workers: 2, nginx: true, s3: true) {
                for name in ["vend", "upload", "renew"] { $0["limits.\(name).requests"] = 1_000_000 }
                $0["limits.uploadBytes.bytes"] = 999_999_999_999_999
                settings(&$0)
            }
        }

        /// Vends, presigns and asks for health through nginx.
        private static func load(_ stack: Stack, pause: Duration = .milliseconds(1)) throws -> Load {
            let port = try #require(stack.nginx).port
            let token = Tokens.fresh()
            return Load(pause: pause) { number in
                try HTTPClient.ask(port: port, [.vend(token), .presign(token), .health][number % 3])
            }
        }

        @Test(arguments: [nil, "glibc.malloc.tcache_count=9"])
        func `workers have huge pages, unless the operator has tunables of their own`(tunables: String?) throws {
            var options = Stack.Options(workers: 2)
            options.environment["GLIBC_TUNABLES"] = tunables
            try Stack.run("tunables", options) { stack in
                #expect(stack.workers.count == 2)
                for worker in stack.workers {
                    let environment = try String(contentsOfFile: "/proc/\(worker)/environ", encoding: .utf8)
                    let own = environment.split(separator: "\0").filter { $0.hasPrefix("GLIBC_TUNABLES=") }
                    #expect(own == ["GLIBC_TUNABLES=\(tunables ?? "glibc.malloc.hugetlb=1")"])
                }
            }
        }

        @Test func `a killed worker costs at worst a 502 and answers again within a second`() throws {
            try Stack.run("kill", Self.pair()) { stack in
                try stack.waitUntilReady()
                let load = try Self.load(stack)
                for _ in 1...3 {
                    let victim = try #require(stack.workers.first)
                    kill(victim, SIGKILL)
                    try wait(for: "the new worker", within: .seconds(1)) {
                        stack.workers.count == 2 && !stack.workers.contains(victim)
                    }
                    for number in 1...2 {
                        try wait(for: "worker \(number)", within: .seconds(1)) {
                            (try? stack.ask(.health, worker: number))?.status == 200
                        }
                    }
                }
                let tally = load.stop()
                #expect(tally.total > 300)
                #expect(Set(tally.byStatus.keys).isSubset(of: [200, 502]), "\(tally) \(stack.warnings)")
                #expect(tally.byStatus[502, default: 0] <= 12)
                #expect(stack.logLines("worker ended").count == 3)
            }
        }

        @Test func `a hung worker is replaced within the watchdog's time`() throws {
            try Stack.run("hang", Self.pair { $0["server.hungAfterMilliseconds"] = 500 }) { stack in
                try stack.waitUntilReady()
                let load = try Self.load(stack)
                let victim = try #require(stack.workers.last)
                kill(victim, SIGSTOP)
                let duration = try wait(for: "the watchdog", within: .seconds(3)) {
                    stack.workers.count == 2 && !stack.workers.contains(victim)
                }
                #expect(duration > 300)
                for number in 1...2 {
                    try wait(for: "worker \(number)", within: .seconds(1)) {
                        (try? stack.ask(.health, worker: number))?.status == 200
                    }
                }
                let tally = load.stop()
                #expect(Set(tally.byStatus.keys).isSubset(of: [200, 502]), "\(tally) \(stack.warnings)")
                let line = try #require(stack.logLines("worker does not answer; it is ended").first)
                #expect(line["process"] as? Int == Int(victim))
            }
        }

        @Test func `a busy worker is not taken for a hung one`() throws {
            try Stack.run("busy", Self.pair { $0["server.hungAfterMilliseconds"] = 500 }) { stack in
                try stack.waitUntilReady()
                let workers = stack.workers
                let load = try Self.load(stack, pause: .zero)
                let start = milliseconds()
                try wait(for: "two seconds of load", within: .seconds(30)) {
                    milliseconds() - start > 2000 && load.soFar.total > 500
                }
                #expect(Set(load.stop().byStatus.keys) == [200], "\(stack.warnings)")
                #expect(stack.workers == workers)
            }
        }

        @Test func `all workers are replaced under load without one lost request, and read the settings anew`() throws {
            try Stack.run("replace", Self.pair()) { stack in
                try stack.waitUntilReady()
                let load = try Self.load(stack)
                for round in 1...3 {
                    let old = Set(stack.workers)
                    try stack.writeSettings { $0["limits.upload.requests"] = 900_000 + round }
                    stack.server?.signal(SIGHUP)
                    try wait(for: "new workers", within: .seconds(10)) {
                        stack.logLines("all workers are replaced").count == round
                            && stack.workers.count == 2 && old.isDisjoint(with: stack.workers)
                    }
                    for number in 1...2 {
                        let reply = try stack.ask(.presign(Tokens.fresh()), worker: number)
                        let policy = try #require(reply.fields["ratelimit-policy"])
                        #expect(policy.hasPrefix("\"upload\";q=\(900_000 + round);w=3600,"))
                    }
                }
                try wait(for: "enough requests", within: .seconds(20)) { load.soFar.total >= 2000 }
                let tally = load.stop()
                #expect(Set(tally.byStatus.keys) == [200], "\(tally) \(stack.warnings)")
                #expect(stack.logLines("worker ended").isEmpty)
            }
        }

        @Test func `new workers are watched as their own settings say, not as those the supervisor started with`()
            throws
        {
            try Stack.run("other-watch", Self.pair { $0["server.hungAfterMilliseconds"] = 500 }) { stack in
                func reload(hungAfterMilliseconds limit: Int) throws {
                    let reloads = stack.logLines("all workers are replaced").count
                    try stack.writeSettings { $0["server.hungAfterMilliseconds"] = limit }
                    stack.server?.signal(SIGHUP)
                    try wait(for: "new workers", within: .seconds(10)) {
                        stack.logLines("all workers are replaced").count > reloads && stack.workers.count == 2
                    }
                }
                let watchdog = "worker does not answer; it is ended"
                try reload(hungAfterMilliseconds: 60_000)
                let workers = stack.workers
                let load = try Self.load(stack)
                try wait(for: "two seconds of load", within: .seconds(20)) { load.soFar.total > 2000 }
                #expect(Set(load.stop().byStatus.keys) == [200], "\(stack.warnings)")
                #expect(stack.workers == workers && stack.logLines(watchdog).isEmpty)

                try reload(hungAfterMilliseconds: 500)
                let victim = try #require(stack.workers.last)
                kill(victim, SIGSTOP)
                try wait(for: "the watchdog", within: .seconds(3)) {
                    stack.workers.count == 2 && !stack.workers.contains(victim)
                }
                #expect(stack.logLines(watchdog).count == 1)
            }
        }

        @Test func `a supervisor that stops leaves another on the same addresses its sockets and its folder`() throws {
            try Stack.run("takeover", .init(workers: 1, settings: { $0["server.metricsFolder"] = nil })) { stack in
                let listen = "unix:\(stack.folder)/worker-%d.sock"
                let second = try RunningProgram(
                    try Programs.worker, ["serve", "--workers", "1", "--listen", listen, stack.settingsFile],
                    output: "\(stack.folder)/second.log", environment: TestSettings.environment)
                defer { #expect(second.stop() == 0) }
                try wait(for: "the second supervisor") {
                    guard let worker = ProcessTable.children(of: second.pid).first else { return false }
                    return try Socket(path: stack.socket()).peer == worker
                }
                #expect(stack.server?.stop() == 0)
                #expect(try stack.ask(.health).status == 200)
                let status = try Command(["status", "--listen", listen])
                #expect(status.status == 0 && status.text.contains("process \(second.pid)"), "\(status.text)")
            }
        }

        @Test func `sockets that another supervisor takes away with it are made anew`() throws {
            try Stack.run("taken-away", .init(workers: 2, settings: { $0["server.metricsFolder"] = nil })) { stack in
                let listen = "unix:\(stack.folder)/worker-%d.sock"
                let second = try RunningProgram(
                    try Programs.worker, ["serve", "--workers", "2", "--listen", listen, stack.settingsFile],
                    output: "\(stack.folder)/second.log", environment: TestSettings.environment)
                defer { second.stop() }
                try wait(for: "the second supervisor's workers") {
                    let workers = Set(ProcessTable.children(of: second.pid))
                    return try workers.count == 2
                        && (1...2).allSatisfy { try workers.contains(Socket(path: stack.socket($0)).peer) }
                }
                let taken =
                    "another process has put its sockets in the place of workers'; is there a second supervisor?"
                try wait(for: "word of it") { !stack.logLines(taken).isEmpty }
                #expect(second.stop() == 0)
                try wait(for: "sockets of the first supervisor \(stack.warnings)", within: .seconds(10)) {
                    let workers = ProcessTable.children(of: try #require(stack.server?.pid))
                    return (1...2).allSatisfy { number in
                        (try? Socket(path: stack.socket(number)).peer).map { workers.contains($0) } ?? false
                    }
                }
                #expect(
                    !stack.logLines("another process has removed the sockets of workers; they are replaced").isEmpty)
                try wait(for: "the status") { try Command(["status", "--listen", listen]).status == 0 }
            }
        }

        @Test func `workers start though the folder that their supervisor shares with them is gone`() throws {
            try Stack.run("no-folder", .init(workers: 1, settings: { $0["server.metricsFolder"] = nil })) { stack in
                let folder = "\(stack.folder)/worker-N.sock.supervisor"
                // Moved, at once: workers write files into it while its entries would be removed one by one.
                func takeAway(_ name: String) throws {
                    try FileManager.default.moveItem(atPath: folder, toPath: "\(stack.folder)/\(name)")
                }
                try takeAway("gone-0")
                try wait(for: "the folder, and the status in it") {
                    try Command(["status", "--listen", "unix:\(stack.folder)/worker-%d.sock"]).status == 0
                }
                for round in 1...2 {
                    // While nothing makes it anew.
                    stack.server?.signal(SIGSTOP)
                    try takeAway("gone-\(round)")
                    // The second time something else is at its path.
                    if round == 2 { try "".write(toFile: folder, atomically: false, encoding: .utf8) }
                    for signal in [SIGHUP, SIGCONT] { stack.server?.signal(signal) }
                    try wait(for: "the new worker \(stack.warnings)", within: .seconds(10)) {
                        stack.logLines("all workers are replaced").count == round
                    }
                    #expect(try stack.ask(.metrics).text.contains("cloakroom_worker_starts_total"))
                }
            }
        }

        @Test func `the path of a socket always leads to a worker`() throws {
            try Stack.run("path", .init(workers: 1)) { stack in
                let path = stack.socket()
                // A connection for each request, without nginx to try again.
                let load = Load { _ in try FastCGIClient.ask(path: path, .health) }
                for round in 1...5 {
                    stack.server?.signal(SIGHUP)
                    try wait(for: "the new worker", within: .seconds(10)) {
                        stack.logLines("all workers are replaced").count == round
                    }
                }
                let tally = load.stop()
                #expect(tally.total > 300)
                #expect(Set(tally.byStatus.keys) == [200], "\(tally) \(stack.warnings)")
            }
        }

        @Test func `settings with a fault, or a worker that does not come up, change nothing`() throws {
            try Stack.run("stay", Self.pair()) { stack in
                try stack.waitUntilReady()
                let load = try Self.load(stack)
                let workers = stack.workers
                try stack.writeSettings { $0["limits.upload.requests"] = 0 }
                stack.server?.signal(SIGHUP)
                try wait(for: "the refusal") { stack.logLines("settings have faults; the workers stay").count == 1 }
                try stack.writeSettings { $0["audit.file"] = "\(stack.folder)/no/such/folder/audit.log" }
                stack.server?.signal(SIGHUP)
                try wait(for: "the failure") {
                    stack.logLines("a new worker did not come up; the others stay").count == 1
                }
                #expect(stack.workers == workers)
                #expect(Set(load.stop().byStatus.keys) == [200], "\(stack.warnings)")
            }
        }

        @Test func `nginx is reloaded under load without one lost request`() throws {
            try Stack.run("reload", Self.pair()) { stack in
                try stack.waitUntilReady()
                let nginx = try #require(stack.nginx)
                let load = try Self.load(stack)
                for _ in 1...3 {
                    let old = Set(ProcessTable.children(of: nginx.program.pid))
                    nginx.reload()
                    try wait(for: "new nginx processes", within: .seconds(10)) {
                        let now = ProcessTable.children(of: nginx.program.pid)
                        return now.count == 2 && old.isDisjoint(with: now)
                    }
                }
                let tally = load.stop()
                #expect(tally.total > 100)
                #expect(Set(tally.byStatus.keys) == [200], "\(tally) \(stack.warnings)")
            }
        }

        @Test func `what was taken is answered before the end`() throws {
            let upstream = try SlowUpstream()
            defer { upstream.stop() }
            let options = Stack.Options(workers: 1) { $0["aws.s3Endpoint"] = upstream.url }
            try Stack.run("drain", options) { stack in
                let before = upstream.arrived
                let clients = try (0..<40).map { _ in try FastCGIClient(path: stack.socket()) }
                for client in clients {
                    try client.socket.send(FastCGIClient.request(.renew(Tokens.fresh(), ["gone.bin"])))
                }
                try wait(for: "all at S3") { upstream.arrived >= before + clients.count }
                stack.server?.signal(SIGTERM)
                try wait(for: "draining") { stack.logLines("worker drains").count == 1 }
                upstream.release()
                for client in clients {
                    let reply = try client.answer()
                    #expect(reply.status == 200)
                    #expect(reply.text.contains("not_found"))
                    #expect(try client.record() == nil)
                }
                #expect(try stack.server?.waitForEnd(within: .seconds(3)) == 0)
                #expect(!FileManager.default.fileExists(atPath: stack.socket()))
            }
        }

        @Test func `requests that wait to be accepted are answered too`() throws {
            try Stack.run("backlog", .init(status: nil)) { stack in
                let worker = try #require(stack.server)
                worker.signal(SIGSTOP)
                worker.signal(SIGTERM)
                let clients = try (0..<50).map { _ in
                    let client = try FastCGIClient(path: stack.socket())
                    try client.socket.send(FastCGIClient.request(.health))
                    return client
                }
                worker.signal(SIGCONT)
                for client in clients { #expect(try client.answer().status == 200) }
                #expect(try worker.waitForEnd(within: .seconds(3)) == 0)
            }
        }

        @Test(arguments: [SIGTERM, SIGINT, SIGQUIT])
        func `an idle supervisor and an idle worker end at once, with 0`(_ signal: Int32) throws {
            for workers in [nil, 2] {
                try Stack.run("idle", .init(workers: workers)) { stack in
                    // A kept connection of nginx must not hold it up.
                    let kept = try FastCGIClient(path: stack.socket())
                    #expect(try kept.ask(.health).status == 200)
                    let server = try #require(stack.server)
                    let (status, duration) = try timed {
                        server.signal(signal)
                        return try server.waitForEnd()
                    }
                    #expect(status == 0)
                    #expect(duration < 1000)
                    #expect(!FileManager.default.fileExists(atPath: "\(stack.folder)/worker-N.sock.supervisor"))
                }
            }
        }

        @Test func `workers end by themselves when their supervisor is killed`() throws {
            try Stack.run("orphans", .init(workers: 2, status: nil)) { stack in
                try wait(for: "workers") { (try? stack.ask(.health, worker: 2))?.status == 200 }
                let workers = stack.workers
                #expect(workers.count == 2)
                stack.server?.signal(SIGKILL)
                try wait(for: "their end", within: .seconds(3)) { !workers.contains(where: ProcessTable.isAlive) }
            }
        }

        @Test func `workers that crash at their start are started less and less often, until they can`() throws {
            let options = Stack.Options(
                workers: 1, settings: { $0["audit.file"] = "\($0.folder)/late/audit.log" }, waits: false)
            try Stack.run("crash-loop", options) { stack in
                let supervisor = try #require(stack.server)
                try wait(for: "some crashes") { stack.logLines("worker ended").count >= 4 }
                // At 0, 0, 0.2 and 0.6 s; the next two come at 1.4 and 3 s.
                usleep(1_000_000)
                #expect((4...6).contains(stack.logLines("worker ended").count))
                #expect(ProcessTable.cpuTime(supervisor.pid) < 500)
                #expect(stack.log.contains("audit.file: \(stack.folder)/late/audit.log: No such file or directory"))
                try FileManager.default.createDirectory(
                    atPath: "\(stack.folder)/late", withIntermediateDirectories: false)
                try wait(for: "a worker", within: .seconds(5)) { (try? stack.ask(.health))?.status == 200 }
                #expect(supervisor.stop() == 0)
            }
        }
    }
}
