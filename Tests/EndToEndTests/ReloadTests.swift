import Foundation
import Testing

extension EndToEnd {
    /// FAULTS row 29: reloads that overlap, and workers that end while they are replaced.
    @Suite struct Reloading {
        private static var pair: Stack.Options {
            Stack.Options(workers: 2, nginx: true) {
                $0["limits.upload.requests"] = 1_000_000
                $0["limits.uploadBytes.bytes"] = 999_999_999_999_999
            }
        }

        private static func load(_ stack: Stack) throws -> Load {
            let port = try #require(stack.nginx).port
            let token = Tokens.fresh()
            return Load(pause: .milliseconds(5)) { number in
                try HTTPClient.ask(port: port, [.presign(token), .health][number % 2])
            }
        }

        private static func drainsSoon(_ settings: inout TestSettings) {
            settings["server.drainSeconds"] = 1
            settings["server.requestDeadlineMilliseconds"] = 900
            settings["aws.timeoutMilliseconds"] = 800
            settings["redis.timeoutMilliseconds"] = 500
        }

        /// Every reload that began has ended, and there is one worker for each slot: each socket's own.
        private static func isSettled(_ stack: Stack) -> Bool {
            // Counted in the text: under load the log is long.
            let log = stack.log
            func count(_ message: String) -> Int { log.components(separatedBy: "\"\(message)\"").count - 1 }
            let ended = count("all workers are replaced") + count("a new worker did not come up; the others stay")
            let workers = stack.workers
            let listening = (1...2).compactMap { try? Socket(path: stack.socket($0)).peer }
            return count("replacing the workers") == ended && workers.count == 2 && listening.sorted() == workers
        }

        /// Waits until nothing changes any more.
        private static func settle(_ stack: Stack) throws {
            var looks = 0
            try wait(for: "one worker for each socket, not \(stack.workers)", within: .seconds(60)) {
                looks = isSettled(stack) ? looks + 1 : 0
                return looks > 5
            }
            // A temporary socket would be one of a worker that nobody knows.
            let sockets = try FileManager.default.contentsOfDirectory(atPath: stack.folder)
                .filter { $0.contains(".sock.") && !$0.hasSuffix(".supervisor") }
            #expect(sockets == [])
        }

        /// A second apart, one reload has ended when the next begins.
        @Test(arguments: zip([0, 5, 50, 200, 1000], [40, 40, 40, 40, 8]))
        func `reloads at any distance end with one worker for each socket and no lost request`(
            milliseconds gap: UInt32, count: Int
        ) throws {
            try Stack.run("reloads-\(gap)", Self.pair) { stack in
                let load = try Self.load(stack)
                let old = Set(stack.workers)
                for _ in 1...count {
                    stack.server?.signal(SIGHUP)
                    usleep(gap * 1000)
                }
                try wait(for: "a reload") { !stack.logLines("replacing the workers").isEmpty }
                try Self.settle(stack)
                #expect(old.isDisjoint(with: stack.workers))
                // Those that came during a reload are one more reload.
                if gap == 0 { #expect(stack.logLines("replacing the workers").count <= 3) }
                try wait(for: "requests after it") { [seen = load.soFar.total] in load.soFar.total > seen + 50 }
                let tally = load.stop()
                #expect(Set(tally.byStatus.keys) == [200], "\(tally) \(stack.warnings)")
                #expect(stack.logLines("worker ended").isEmpty)
            }
        }

        @Test func `a reload that comes during another is done after it`() throws {
            try Stack.run("once-more", .init(workers: 2)) { stack in
                stack.server?.signal(SIGHUP)
                try wait(for: "a reload") { !stack.logLines("replacing the workers").isEmpty }
                stack.server?.signal(SIGHUP)
                try wait(for: "another one", within: .seconds(30)) {
                    stack.logLines("replacing the workers").count == 2
                }
                try Self.settle(stack)
            }
        }

        @Test(arguments: ["new", "old", "both"])
        func `a worker killed while it is replaced leaves each socket its worker`(victim: String) throws {
            try Stack.run("killed-\(victim)", Self.pair) { stack in
                let load = try Self.load(stack)
                for _ in 1...5 {
                    let old = stack.workers
                    stack.server?.signal(SIGHUP)
                    try wait(for: "a new worker", within: .seconds(10)) { !stack.workers.allSatisfy(old.contains) }
                    let new = stack.workers.filter { !old.contains($0) }
                    if victim != "old" { new.forEach { kill($0, SIGKILL) } }
                    if victim != "new" { old.first.map { _ = kill($0, SIGKILL) } }
                    try Self.settle(stack)
                }
                let reloads = stack.logLines("replacing the workers").count
                stack.server?.signal(SIGHUP)
                try wait(for: "one more reload") { stack.logLines("replacing the workers").count > reloads }
                try Self.settle(stack)
                let tally = load.stop()
                #expect(Set(tally.byStatus.keys).isSubset(of: [200, 502]), "\(tally) \(stack.warnings)")
                #expect(tally.byStatus[502, default: 0] <= 15)
            }
        }

        @Test func `a worker that is replaced before it came up is ended`() throws {
            var isStopped = false
            // A worker that came up before it was stopped shows nothing.
            for _ in 1...10 where !isStopped {
                try Stack.run("not-up", .init(workers: 1, waits: false)) { stack in
                    try wait(for: "the first worker") { !stack.workers.isEmpty }
                    let first = try #require(stack.workers.first)
                    kill(first, SIGSTOP)
                    guard !FileManager.default.fileExists(atPath: stack.socket()) else {
                        kill(first, SIGCONT)
                        return
                    }
                    isStopped = true
                    stack.server?.signal(SIGHUP)
                    try wait(for: "another one", within: .seconds(5)) { (try? stack.ask(.health))?.status == 200 }
                    try wait(for: "the end of the first") { !ProcessTable.isAlive(first) }
                    #expect(stack.workers.count == 1)
                    #expect(try Socket(path: stack.socket()).peer == stack.workers.first)
                }
            }
            #expect(isStopped)
        }

        @Test func `the unit's ExecReload line works twice in a row`() throws {
            let unit = try String(
                contentsOfFile: "\(Programs.checkout)/deploy/systemd/cloakroom.service", encoding: .utf8)
            let lines = unit.components(separatedBy: "\n").filter { $0.hasPrefix("ExecReload=") }
            // It reads no settings: it would find no secrets there (systemd issue 35227).
            #expect(lines == ["ExecReload=/bin/kill -HUP $MAINPID"])
            try Stack.run("exec-reload", Self.pair) { stack in
                let load = try Self.load(stack)
                let old = Set(stack.workers)
                let supervisor = try #require(stack.server).pid
                for line in lines + lines {
                    let words = line.dropFirst("ExecReload=".count).replacing("$MAINPID", with: "\(supervisor)")
                        .split(separator: " ").map(String.init)
                    let process = try Process.run(
                        URL(fileURLWithPath: words[0]), arguments: Array(words.dropFirst()))
                    process.waitUntilExit()
                    #expect(process.terminationStatus == 0)
                }
                try wait(for: "a reload") { !stack.logLines("replacing the workers").isEmpty }
                try Self.settle(stack)
                #expect(old.isDisjoint(with: stack.workers))
                #expect(Set(load.stop().byStatus.keys) == [200], "\(stack.warnings)")
            }
        }

        @Test func `a worker that is stopped does not keep its supervisor from ending`() throws {
            try Stack.run(
                "stopped",
                .init(workers: 2) {
                    Self.drainsSoon(&$0)
                }
            ) { stack in
                let victim = try #require(stack.workers.first)
                kill(victim, SIGSTOP)
                stack.server?.signal(SIGTERM)
                try wait(for: "the stop") { !stack.logLines("supervisor stops its workers").isEmpty }
                // It starts no worker any more.
                stack.server?.signal(SIGHUP)
                #expect(try stack.server?.waitForEnd(within: .seconds(8)) == 0)
                #expect(stack.logLines("replacing the workers").isEmpty)
                #expect(!ProcessTable.isAlive(victim))
                let line = try #require(stack.logLines("worker does not stop; it is ended").first)
                #expect(line["process"] as? Int == Int(victim))
            }
        }

        @Test func `a worker that is stopped when it is replaced is ended after its own time to drain`() throws {
            try Stack.run("stopped-old", .init(workers: 1) { $0["server.drainSeconds"] = 60 }) { stack in
                // The supervisor started with other settings than this worker.
                try stack.writeSettings { Self.drainsSoon(&$0) }
                stack.server?.signal(SIGHUP)
                try wait(for: "a reload", within: .seconds(10)) {
                    stack.logLines("all workers are replaced").count == 1 && stack.workers.count == 1
                }
                let victim = try #require(stack.workers.first)
                kill(victim, SIGSTOP)
                stack.server?.signal(SIGHUP)
                try wait(for: "its end", within: .seconds(8)) { !ProcessTable.isAlive(victim) }
                #expect(try stack.ask(.health).status == 200)
                #expect(stack.workers.count == 1)
            }
        }

        @Test func `workers that serve stay when the new settings lead to no Redis, and are followed by their like`()
            throws
        {
            var options = Self.pair
            options.s3 = true
            options.status = nil
            try Stack.run("no-redis", options) { stack in
                try wait(for: "readiness", within: .seconds(10)) { try stack.ask(.readiness).status == 200 }
                let old = Set(stack.workers)
                try stack.writeSettings { $0["redis.address"] = "127.0.0.1:1" }
                stack.server?.signal(SIGHUP)
                try wait(for: "the refusal", within: .seconds(30)) {
                    !stack.logLines("a new worker did not come up; the others stay").isEmpty
                }
                #expect(Set(stack.workers) == old)
                // Nor does a fault on the disk keep one from being replaced that ends by itself.
                try stack.writeSettings { $0["limits.upload.requests"] = 0 }
                for worker in old { kill(worker, SIGKILL) }
                try Self.settle(stack)
                try wait(for: "readiness", within: .seconds(10)) { try stack.ask(.readiness).status == 200 }
                // Corrected, they are taken.
                try stack.writeSettings()
                let before = Set(stack.workers)
                stack.server?.signal(SIGHUP)
                try wait(for: "a reload", within: .seconds(30)) { !stack.logLines("all workers are replaced").isEmpty }
                // The former ones finish what they have first.
                try wait(for: "the end of the former", within: .seconds(30)) { before.isDisjoint(with: stack.workers) }
            }
        }

        @Test func `workers that end are followed by their like though the files that the settings name have changed`()
            throws
        {
            let template = #"""
                {"Version": "2012-10-17", "Statement": [
                  {"Effect": "Allow", "Action": "s3:GetObject",
                   "Resource": "arn:${partition}:s3:::${bucket}/photos/${user}/*"}
                ]}
                """#
            func write(_ text: String, _ name: String, in stack: Stack) throws {
                try text.write(toFile: "\(stack.folder)/\(name)", atomically: false, encoding: .utf8)
            }
            var options = Stack.Options(workers: 2, s3: true) {
                $0["vending.scopes"] = ["look": ["template": "look.json"]]
                $0["tokens.issuers"] = [
                    [
                        "issuer": Tokens.issuer, "audiences": ["cloakroom"], "algorithms": ["HS256"],
                        "secret": ["file": "token-secret"],
                    ] as [String: Any]
                ]
            }
            options.prepare = {
                try write(template, "look.json", in: $0)
                try write(Tokens.secret, "token-secret", in: $0)
            }
            try Stack.run("changed-files", options) { stack in
                func expectBothServe() throws {
                    for number in 1...2 {
                        try stack.waitUntilReady(worker: number)
                        let vended = try stack.ask(.vend(Tokens.fresh(), scope: "look"), worker: number)
                        #expect(vended.status == 200, "\(number): \(vended.text)")
                    }
                }
                try expectBothServe()
                let old = stack.workers
                try write("{", "look.json", in: stack)
                try write(Secrets.random(), "token-secret", in: stack)
                for worker in old { kill(worker, SIGKILL) }
                try Self.settle(stack)
                #expect(Set(old).isDisjoint(with: stack.workers))
                try expectBothServe()
                // The same files are refused at a reload.
                let successors = stack.workers
                stack.server?.signal(SIGHUP)
                try wait(for: "the refusal", within: .seconds(10)) {
                    stack.logLines("settings have faults; the workers stay").count == 1
                }
                #expect(stack.workers == successors)
                // With the template as it was, the other secret is taken.
                try write(template, "look.json", in: stack)
                stack.server?.signal(SIGHUP)
                try wait(for: "a reload", within: .seconds(30)) {
                    stack.logLines("all workers are replaced").count == 1
                }
                for number in 1...2 {
                    #expect(try stack.ask(.vend(Tokens.fresh(), scope: "look"), worker: number).status == 401)
                }
            }
        }

        @Test func `a worker killed while new settings lead to no Redis is followed by one that is ready`() throws {
            var options = Self.pair
            options.s3 = true
            options.status = nil
            try Stack.run("no-redis-killed", options) { stack in
                func waitUntilBothAreReady() throws {
                    try wait(for: "readiness \(stack.warnings)", within: .seconds(10)) {
                        (1...2).allSatisfy { (try? stack.ask(.readiness, worker: $0))?.status == 200 }
                    }
                }
                try waitUntilBothAreReady()
                try stack.writeSettings { $0["redis.address"] = "127.0.0.1:1" }
                stack.server?.signal(SIGHUP)
                // Its ten seconds are the time of the others.
                try wait(for: "the first new worker", within: .seconds(10)) { stack.workers.count == 3 }
                let victims = try (1...2).map { try Socket(path: stack.socket($0)).peer }
                for victim in victims { kill(victim, SIGKILL) }
                try wait(for: "the refusal", within: .seconds(30)) {
                    !stack.logLines("a new worker did not come up; the others stay").isEmpty
                }
                try waitUntilBothAreReady()
                #expect(Set(stack.workers).isDisjoint(with: victims))
            }
        }

        @Test func `a worker logs no fault of what it only has to wait a moment for`() throws {
            try Stack.run("not-ready", .init(workers: 1)) { stack in
                for round in 1...3 {
                    stack.server?.signal(SIGHUP)
                    try wait(for: "the new worker", within: .seconds(10)) {
                        stack.logLines("all workers are replaced").count == round
                    }
                }
                let faults = stack.logLines("dependency is not ready").compactMap { $0["dependency"] as? String }
                #expect(!faults.contains("redis"))
            }
        }
    }
}
