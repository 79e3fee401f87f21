import Foundation
import Testing

extension EndToEnd {
    /// An upgrade without a restart: SIGHUP gives the workers the new program, SIGUSR2 the supervisor.
    @Suite struct ChangingTheProgram {
        /// Runs a copy of the program that the test can replace, `program` in the stack's folder.
        private static var options: Stack.Options {
            Stack.Options(
                workers: 2, nginx: true,
                shell: #"""
                    for last; do :; done; folder=$(dirname "$last"); cp "$1" "$folder/program"; shift
                    exec "$folder/program" "$@"
                    """#
            ) {
                $0["limits.upload.requests"] = 1_000_000
                $0["limits.uploadBytes.bytes"] = 999_999_999_999_999
                $0["server.metricsFolder"] = nil
            }
        }

        private static func install(_ program: String, in stack: Stack) throws {
            let (new, path) = ("\(stack.folder)/program.new", "\(stack.folder)/program")
            try FileManager.default.copyItem(atPath: program, toPath: new)
            #expect(rename(new, path) == 0)
        }

        private static func status(_ stack: Stack) throws -> (status: Int32?, text: String) {
            let command = try Command(["status", "--listen", "unix:\(stack.folder)/worker-%d.sock"])
            return (command.status, command.text)
        }

        /// The supervisor knows which worker has which socket.
        private static func expectEachSocketsWorker(_ stack: Stack) throws {
            let status = try status(stack).text
            for number in 1...2 {
                let (socket, worker) = try (stack.socket(number), Socket(path: stack.socket(number)).peer)
                #expect(status.contains("process \(worker), unix:\(socket)"), "\(status)")
            }
        }

        private static func reload(_ stack: Stack) throws {
            let reloads = stack.logLines("all workers are replaced").count
            stack.server?.signal(SIGHUP)
            try wait(for: "new workers", within: .seconds(20)) {
                stack.logLines("all workers are replaced").count > reloads && stack.workers.count == 2
            }
        }

        @Test func `the supervisor runs its new program with the same workers, and loses no request`() throws {
            try Stack.run("program", Self.options) { stack in
                let supervisor = try #require(stack.server).pid
                let port = try #require(stack.nginx).port
                let token = Tokens.fresh()
                let load = Load { _ in try HTTPClient.ask(port: port, .presign(token)) }
                #expect(try Self.status(stack).status == 0)
                let start = try Metrics(stack.askNginx(.metrics).text).sum("cloakroom_start_time_seconds")
                #expect((0...120).contains(Date().timeIntervalSince1970 - start))

                try Self.install(try Programs.worker, in: stack)
                try Self.reload(stack)
                let message =
                    "the workers run a new program, the supervisor itself still the former one; SIGUSR2 changes that"
                #expect(stack.logLines(message).count == 1)
                try wait(for: "the status") { try Self.status(stack).status == 1 }
                #expect(try Self.status(stack).text.contains("kill -USR2 \(supervisor)"))

                let workers = stack.workers
                for round in 1...2 {
                    stack.server?.signal(SIGUSR2)
                    try wait(for: "the new program", within: .seconds(10)) {
                        stack.logLines("the supervisor runs its program anew").count == round
                    }
                    try Self.expectEachSocketsWorker(stack)
                }
                #expect(stack.workers == workers)
                #expect(try Set((1...2).map { try Socket(path: stack.socket($0)).peer }) == Set(workers))
                try wait(for: "the status") { try Self.status(stack).status == 0 }

                // It looks after the workers that it took over as after its own.
                try Self.reload(stack)
                #expect(Set(workers).isDisjoint(with: stack.workers))
                let counted = Metrics(try stack.askNginx(.metrics).text)
                #expect(counted.sum("cloakroom_worker_starts_total") == 6)
                // Where the clock was set meanwhile, or a second just began, it is another by one.
                #expect(abs(counted.sum("cloakroom_start_time_seconds") - start) <= 1)
                let tally = load.stop()
                #expect(Set(tally.byStatus.keys) == [200], "\(tally) \(stack.warnings)")
                let victim = try #require(stack.workers.first)
                kill(victim, SIGKILL)
                try wait(for: "its successor", within: .seconds(2)) {
                    stack.workers.count == 2 && !stack.workers.contains(victim)
                }
            }
        }

        /// Kills a worker, and waits for the one that is started in its place.
        private static func expectSuccessor(_ stack: Stack) throws {
            let victim = try #require(stack.workers.first)
            kill(victim, SIGKILL)
            try wait(for: "its successor \(stack.warnings)", within: .seconds(10)) {
                let workers = stack.workers
                return workers.count == 2 && !workers.contains(victim)
                    && (try? (1...2).map { try Socket(path: stack.socket($0)).peer }.sorted()) == workers
            }
        }

        @Test func `a program that is installed and not reloaded is run in place of no worker that ends`() throws {
            try Stack.run("not-reloaded", Self.options) { stack in
                try Self.install("/bin/false", in: stack)
                try Self.expectSuccessor(stack)
                // After a reload it is the new one, although the next lies at the path.
                try Self.install(try Programs.worker, in: stack)
                try Self.reload(stack)
                try Self.install("/bin/false", in: stack)
                try Self.expectSuccessor(stack)
                try FileManager.default.removeItem(atPath: "\(stack.folder)/program")
                try Self.expectSuccessor(stack)
            }
        }

        @Test func `a program that cannot take over leaves the one that runs`() throws {
            try Stack.run("no-program", Self.options) { stack in
                let workers = stack.workers
                try Self.install("/bin/false", in: stack)
                stack.server?.signal(SIGUSR2)
                let message = "the program at the supervisor's path cannot take over; this one goes on"
                try wait(for: "the refusal") { stack.logLines(message).count == 1 }
                try FileManager.default.removeItem(atPath: "\(stack.folder)/program")
                stack.server?.signal(SIGUSR2)
                try wait(for: "the second refusal") { stack.logLines(message).count == 2 }
                #expect(stack.workers == workers)
                try Self.install(try Programs.worker, in: stack)
                stack.server?.signal(SIGUSR2)
                try wait(for: "the new program", within: .seconds(10)) {
                    stack.logLines("the supervisor runs its program anew").count == 1
                }
                #expect(stack.workers == workers)
            }
        }

        @Test func `workers of another program than the supervisor's are told of until they are replaced`() throws {
            try Stack.run("former-workers", Self.options) { stack in
                let supervisor = try #require(stack.server).pid
                let workers = stack.workers
                try Self.install(try Programs.worker, in: stack)
                stack.server?.signal(SIGUSR2)
                try wait(for: "the status", within: .seconds(10)) {
                    try Self.status(stack).text.contains("kill -HUP \(supervisor)")
                }
                #expect(try Self.status(stack).status == 1)
                #expect(stack.workers == workers)
                try Self.reload(stack)
                try wait(for: "the status") { try Self.status(stack).status == 0 }
            }
        }

        /// As with settings that only the new program knows, and with workers that are not ready in time.
        @Test(arguments: [true, false])
        func `a reload that failed is done once more by the program that takes over`(isRefused: Bool) throws {
            try Stack.run("failed-reload", Self.options) { stack in
                let workers = stack.workers
                try stack.writeSettings {
                    if isRefused {
                        $0["limits.upload.requests"] = 0
                    } else {
                        $0["audit.file"] = "\(stack.folder)/no/such/folder/audit.log"
                    }
                }
                stack.server?.signal(SIGHUP)
                let message =
                    isRefused
                    ? "settings have faults; the workers stay" : "a new worker did not come up; the others stay"
                try wait(for: "the failure", within: .seconds(10)) { stack.logLines(message).count == 1 }
                try stack.writeSettings()
                try Self.install(try Programs.worker, in: stack)
                stack.server?.signal(SIGUSR2)
                try wait(for: "new workers \(stack.warnings)", within: .seconds(20)) {
                    stack.logLines("all workers are replaced").count == 1 && stack.workers.count == 2
                }
                #expect(Set(workers).isDisjoint(with: stack.workers))
                try wait(for: "the status") { try Self.status(stack).status == 0 }
                // It is done: not again by the next one.
                stack.server?.signal(SIGUSR2)
                try wait(for: "the next program", within: .seconds(10)) {
                    stack.logLines("the supervisor runs its program anew").count == 2
                }
                #expect(stack.logLines("replacing the workers").count == (isRefused ? 1 : 2))
            }
        }

        @Test func `a worker that leaves while the program changes is not taken for its successor`() throws {
            try Stack.run("leaving", Self.options) { stack in
                let victim = try #require(stack.workers.first)
                // It cannot leave for now.
                kill(victim, SIGSTOP)
                stack.server?.signal(SIGHUP)
                try wait(for: "new workers", within: .seconds(20)) {
                    stack.logLines("all workers are replaced").count == 1
                }
                stack.server?.signal(SIGUSR2)
                try wait(for: "the new program", within: .seconds(10)) {
                    stack.logLines("the supervisor runs its program anew").count == 1
                }
                #expect(stack.workers.contains(victim))
                try Self.expectEachSocketsWorker(stack)
                kill(victim, SIGCONT)
                try wait(for: "its end") { stack.workers.count == 2 && !stack.workers.contains(victim) }
                try Self.expectEachSocketsWorker(stack)
            }
        }

        @Test func `a reload that begins while the next program is tried is done before the program changes`() throws {
            try Stack.run("reload-in-trial", Self.options) { stack in
                func go(_ name: String) throws {
                    try "".write(toFile: "\(stack.folder)/go.\(name)", atomically: false, encoding: .utf8)
                }
                let script = "\(stack.folder)/program.waits"
                try """
                #!/bin/sh
                case "$*" in *" trial "*) name=trial ;; *) name=worker ;; esac
                while [ ! -e "\(stack.folder)/go.$name" ]; do sleep 0.02; done
                exec "\(try Programs.worker)" "$@"
                """.write(toFile: script, atomically: true, encoding: .utf8)
                #expect(chmod(script, 0o755) == 0)
                try Self.install(script, in: stack)
                stack.server?.signal(SIGUSR2)
                try wait(for: "the trial") { stack.workers.count == 3 }
                stack.server?.signal(SIGHUP)
                try wait(for: "the first new worker") { stack.workers.count == 4 }
                try go("trial")
                try wait(for: "the end of the trial") { stack.workers.count == 3 }
                try go("worker")
                try wait(for: "new workers", within: .seconds(20)) {
                    stack.logLines("all workers are replaced").count == 1
                }
                try wait(for: "the new program", within: .seconds(10)) {
                    stack.logLines("the supervisor runs its program anew").count == 1
                }
                try wait(for: "two workers") { stack.workers.count == 2 }
                try Self.expectEachSocketsWorker(stack)
            }
        }

        @Test func `a program that hangs is given up after 10 s, and another can take over`() throws {
            try Stack.run("hanging-program", Self.options) { stack in
                let workers = stack.workers
                let script = "\(stack.folder)/program.hangs"
                try "#!/bin/sh\nexec sleep 600\n".write(toFile: script, atomically: true, encoding: .utf8)
                #expect(chmod(script, 0o755) == 0)
                try Self.install(script, in: stack)
                stack.server?.signal(SIGUSR2)
                let message = "the program at the supervisor's path cannot take over; this one goes on"
                try wait(for: "the refusal", within: .seconds(15)) { stack.logLines(message).count == 1 }
                try Self.install(try Programs.worker, in: stack)
                stack.server?.signal(SIGUSR2)
                try wait(for: "the new program", within: .seconds(10)) {
                    stack.logLines("the supervisor runs its program anew").count == 1
                }
                #expect(stack.workers == workers)
            }
        }

        /// A copy of the program that writes and reads the state of a supervisor in another layout, as a later version may.
        private static func programOfAnotherLayout(in stack: Stack) throws -> String {
            var bytes = try Data(contentsOf: URL(fileURLWithPath: Programs.worker))
            let place = try #require(bytes.range(of: Data("cloakroom supervisor 1".utf8)))
            bytes[place.upperBound - 1] = UInt8(ascii: "2")
            let path = "\(stack.folder)/program.another-layout"
            try bytes.write(to: URL(fileURLWithPath: path))
            #expect(chmod(path, 0o755) == 0)
            return path
        }

        @Test func `a program that cannot read the state of the one that runs is refused before it takes over`() throws
        {
            try Stack.run("other-layout", Self.options) { stack in
                let workers = stack.workers
                let port = try #require(stack.nginx).port
                let load = Load { _ in try HTTPClient.ask(port: port, .health) }
                try Self.install(try Self.programOfAnotherLayout(in: stack), in: stack)
                stack.server?.signal(SIGUSR2)
                let message = "the program at the supervisor's path cannot take over; this one goes on"
                try wait(for: "the refusal \(stack.warnings)") { stack.logLines(message).count == 1 }
                #expect(stack.server?.isRunning == true && stack.workers == workers)
                #expect(stack.logLines("the supervisor runs its program anew").isEmpty)
                #expect(Set(load.stop().byStatus.keys) == [200], "\(stack.warnings)")
            }
        }

        /// Supervisors of earlier versions start it without a descriptor.
        @Test(arguments: [("3>&-", Int32(0)), ("3</dev/null", 1)])
        func `a trial succeeds without a state, and fails with one that it cannot read`(
            redirection: String, status: Int32
        ) throws {
            try Stack.run("trial", .init(workers: 1)) { stack in
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/bin/sh")
                process.arguments = [
                    "-c", "exec \"$0\" \"$@\" \(redirection)", try Programs.worker, "serve", "--workers", "1",
                    "--listen", "unix:\(stack.folder)/trial.sock", "--resume", "trial", stack.settingsFile,
                ]
                process.environment = ProcessInfo.processInfo.environment.merging(TestSettings.environment) { $1 }
                try process.run()
                process.waitUntilExit()
                #expect(process.terminationStatus == status)
            }
        }

        @Test func `a change of the program is tried though the reload before it found a fault in the settings`() throws
        {
            var options = Self.options
            options.workers = 6
            // A log of its own: workers and the trial tell the faults too, in no line of a log.
            options.shell = options.shell.map { $0 + #" 2>"$folder/faults.log""# }
            try Stack.run("faulty-reload", options) { stack in
                func logs(_ message: String) -> Bool {
                    RunFolder.text(of: "\(stack.folder)/faults.log").contains("\"\(message)\"")
                }
                stack.server?.signal(SIGHUP)
                try wait(for: "a reload") { logs("replacing the workers") }
                // While it is under way.
                stack.server?.signal(SIGSTOP)
                try stack.writeSettings { $0["limits.upload.requests"] = 0 }
                for signal in [SIGHUP, SIGUSR2, SIGCONT] { stack.server?.signal(signal) }
                try wait(for: "the refusal of the settings", within: .seconds(20)) {
                    logs("settings have faults; the workers stay")
                }
                // The trial reads the same settings.
                try wait(for: "the trial", within: .seconds(10)) {
                    logs("the program at the supervisor's path cannot take over; this one goes on")
                }
            }
        }

        @Test func `reloads and changes of the program in any order end well`() throws {
            try Stack.run("mixed", Self.options) { stack in
                let port = try #require(stack.nginx).port
                let load = Load { _ in try HTTPClient.ask(port: port, .health) }
                for signal in [SIGHUP, SIGUSR2, SIGUSR2, SIGHUP, SIGUSR2, SIGHUP, SIGHUP] {
                    stack.server?.signal(signal)
                    usleep(20_000)
                }
                try wait(for: "the new program", within: .seconds(20)) {
                    !stack.logLines("the supervisor runs its program anew").isEmpty
                }
                try wait(for: "two workers", within: .seconds(20)) {
                    stack.workers.count == 2
                        && (try? (1...2).map { try Socket(path: stack.socket($0)).peer }.sorted()) == stack.workers
                }
                #expect(Set(load.stop().byStatus.keys) == [200], "\(stack.warnings)")
            }
        }
    }
}
