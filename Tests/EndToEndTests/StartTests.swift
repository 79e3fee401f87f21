import Foundation
import Testing

import class CloakroomTestSupport.HTTPServer

extension EndToEnd {
    /// FAULTS rows 25 and 26: bad settings, and dependencies that are not there yet.
    @Suite struct Starting {
        struct FaultCase: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let change: @Sendable (inout TestSettings) -> Void
            /// What the message must name.
            let names: [String]
        }

        private static let faults = [
            FaultCase(
                testDescription: "unknown key", change: { $0["redis.adress"] = "a:1" },
                names: ["redis.adress", "address"]),
            FaultCase(
                testDescription: "wrong type", change: { $0["limits.renew.requests"] = "ten" },
                names: ["limits.renew.requests"]),
            FaultCase(
                testDescription: "out of range", change: { $0["vending.lifetimeSeconds"] = 60 },
                names: ["vending.lifetimeSeconds", "900"]),
            FaultCase(testDescription: "missing", change: { $0["region"] = nil }, names: ["region"]),
            FaultCase(
                testDescription: "a secret in the open", change: { $0["aws.secretAccessKey"] = "in the open" },
                names: ["aws.secretAccessKey", "env"]),
            FaultCase(
                testDescription: "no such variable", change: { $0["aws.secretAccessKey"] = ["env": "NOBODY_SET_THIS"] },
                names: ["aws.secretAccessKey", "NOBODY_SET_THIS"]),
            FaultCase(
                testDescription: "a weak key",
                change: {
                    $0["tokens.issuers"] = [
                        ["issuer": "a", "audiences": ["b"], "secret": ["env": "WEAK"]] as [String: Any]
                    ]
                }, names: ["tokens.issuers[0].secret"]),
            FaultCase(
                testDescription: "a template that grants too much",
                change: {
                    let path = "\($0.folder)/template.json"
                    try? #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}"#
                        .write(toFile: path, atomically: false, encoding: .utf8)
                    $0["vending.scopes"] = ["wide": ["template": path]]
                }, names: ["vending.scopes.wide.template"]),
        ]

        @Test(arguments: faults)
        func `check names what is wrong and ends with 1; serve refuses the same`(_ fault: FaultCase) throws {
            let folder = try RunFolder.make("check")
            let file = "\(folder)/settings.json5"
            var settings = TestSettings(folder: folder, upstream: "http://127.0.0.1:9")
            fault.change(&settings)
            try settings.write(to: file)
            let environment = TestSettings.environment.merging(["WEAK": "0123456789012345678901234567890123456789"]) {
                $1
            }
            let check = try Command(["check", file], environment: environment)
            #expect(check.status == 1)
            for name in fault.names { #expect(check.text.contains(name), "\(check.text)") }
            let listen = "unix:\(folder)/worker-%d.sock"
            for options in [[], ["--workers", "2"]] {
                let serve = try Command(["serve", "--listen", listen] + options + [file], environment: environment)
                #expect(serve.status == 1)
                #expect(serve.text == check.text)
            }
            #expect(!check.text.contains(SeaweedFS.brokerSecret) && !check.text.contains(Tokens.secret))
        }

        /// Builds a library that, loaded before a program's own, makes its wall clock stand still at a time.
        private static func clock(at seconds: Int, in folder: String) throws -> String {
            let source = """
                #include <sys/syscall.h>
                #include <time.h>
                #include <unistd.h>
                int clock_gettime(clockid_t clock, struct timespec *time) {
                    if (clock != CLOCK_REALTIME) return (int)syscall(SYS_clock_gettime, clock, time);
                    time->tv_sec = \(seconds);
                    time->tv_nsec = 0;
                    return 0;
                }
                """
            try source.write(toFile: "\(folder)/clock.c", atomically: false, encoding: .utf8)
            let compiler = try RunningProgram(
                try Programs.compiler, ["-shared", "-fPIC", "-o", "\(folder)/clock.so", "\(folder)/clock.c"],
                output: "\(folder)/compiler")
            #expect(try compiler.waitForEnd(within: .seconds(30)) == 0, "\(compiler.text)")
            return "\(folder)/clock.so"
        }

        @Test(arguments: [(5, "1970"), (253_402_300_799, "9999")])
        func `serve says that the clock is wrong, and starts nothing`(seconds: Int, year: String) throws {
            let folder = try RunFolder.make("clock")
            let file = "\(folder)/settings.json5"
            try TestSettings(folder: folder, upstream: "http://127.0.0.1:9").write(to: file)
            let environment = TestSettings.environment.merging(
                ["LD_PRELOAD": try Self.clock(at: seconds, in: folder)]
            ) { $1 }
            for options in [[], ["--workers", "2"]] {
                let serve = try Command(
                    ["serve", "--listen", "unix:\(folder)/worker-%d.sock"] + options + [file], environment: environment)
                #expect(serve.status == 1)
                #expect(serve.text.contains("cannot serve: the system clock is in the year \(year): "), "\(serve.text)")
            }
        }

        @Test(arguments: ["--aws", "--seaweedfs", "--ceph"])
        func `init writes settings that pass, their secrets for the owner alone, and never again`(store: String) throws
        {
            let folder = try RunFolder.make("init")
            let written = try Command(["init", store, folder])
            #expect(written.status == 0, "\(written.text)")
            let file = "\(folder)/cloakroom.json5"
            #expect(written.text.contains("cloakroom check \(file)\n  cloakroom doctor \(file)\n  cloakroom serve"))
            let check = try Command(["check", file], environment: ["AWS_EC2_METADATA_DISABLED": "true"])
            #expect(check.text.hasPrefix("\(file): good") || store == "--aws", "\(check.text)")
            let secrets = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/secrets")
            #expect(secrets.count == (store == "--aws" ? 2 : 3))
            for name in secrets {
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/secrets/\(name)")
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
            let text = RunFolder.text(of: file)
            let again = try Command(["init", store, folder])
            #expect(again.status == 1 && again.text.contains("File exists; nothing was written"), "\(again.text)")
            #expect(RunFolder.text(of: file) == text)
        }

        @Test(arguments: ["077", "027", "000"])
        func `init's settings are for all to read, and its secrets are not, whatever the umask is`(umask: String) throws
        {
            let run = try RunFolder.make("init")
            let folder = "\(run)/etc"
            let program = try RunningProgram(
                "/bin/sh",
                ["-c", #"umask "$1" && shift && exec "$@""#, "sh", umask, try Programs.worker, "init", folder],
                output: "\(run)/output")
            #expect(try program.waitForEnd(within: .seconds(10)) == 0, "\(program.text)")
            for (name, mode) in [
                ("", 0o755), ("/cloakroom.json5", 0o644), ("/secrets", 0o700), ("/secrets/token", 0o600),
            ] {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder + name)
                #expect(attributes[.posixPermissions] as? Int == mode, "\(name)")
            }
        }

        @Test func `init follows no symbolic link, and leaves nothing half done`() throws {
            let folder = try RunFolder.make("init")
            let target = "\(folder)/target"
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/cloakroom.json5", withDestinationPath: target)
            let refused = try Command(["init", folder])
            #expect(refused.status == 1)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["cloakroom.json5"])
        }

        @Test func `all faults are named at once, and a good file is good`() throws {
            let folder = try RunFolder.make("check")
            let file = "\(folder)/settings.json5"
            var settings = TestSettings(folder: folder, upstream: "http://127.0.0.1:9")
            try settings.write(to: file)
            let good = try Command(["check", file])
            #expect(
                good.text
                    == "\(file): good\nAWS credentials: settings\nMultipart uploads: none: uploads.idKeys is not set\n"
                    + "Images of chats: as all others: uploads.chatKeyPrefix is not set\n"
                    + "Tiered photo storage: users have photos and thumbnails, but no catalogs (vending.prefixes): tiers keep no"
                    + " catalog snapshots, so nothing leaves the devices\n"
                    + "Policies allow: arn:aws:s3:::\(SeaweedFS.bucket)/* (uploads.keyPrefix), and deny users' folders\n"
            )
            #expect(good.status == 0)
            for fault in Self.faults.prefix(3) { fault.change(&settings) }
            try settings.write(to: file)
            let bad = try Command(["check", file])
            for name in Self.faults.prefix(3).flatMap(\.names) { #expect(bad.text.contains(name), "\(bad.text)") }
            try "{region: 'us-east-1', ".write(toFile: file, atomically: false, encoding: .utf8)
            #expect(try Command(["check", file]).status == 1)
            #expect(try Command(["check", "\(folder)/nowhere"]).status == 1)
        }

        @Test func `check says which tokens a revocation refuses, and which user ids are reserved`() throws {
            let folder = try RunFolder.make("notes")
            let file = "\(folder)/settings.json5"
            var settings = TestSettings(folder: folder, upstream: "http://127.0.0.1:9")
            func issuer(_ name: String, dates: Bool) -> [String: Any] {
                [
                    "issuer": name, "audiences": ["cloakroom"], "secret": ["env": "TEST_TOKEN_SECRET"],
                    "datesTokens": dates, "subjects": dates ? "plain" : "mapped",
                ]
            }
            settings["tokens.issuers"] = [
                issuer("https://dated", dates: true), issuer("https://undated", dates: false),
            ]
            settings["vending.prefixes"] = [""]
            settings["uploads.keyPrefix"] = "assets/"
            settings["renewal.keyPrefix"] = "old/"
            try settings.write(to: file)
            let check = try Command(["check", file])
            let notes = check.text.split(separator: "\n").filter { $0.hasPrefix("Reserved") || $0.hasPrefix("Tokens") }
            let reserved = [("assets", "uploads.keyPrefix"), ("old", "renewal.keyPrefix")].map { id, setting in
                "Reserved user id: \(id), the folder of which \(setting) uses, beside vending.prefixes \"\""
            }
            let undated =
                "Tokens without iat and nbf: of https://undated; once a user is revoked, all of them are refused until "
                + "`cloakroom user set ID --accept-undated-tokens`"
            #expect(notes.map(String.init) == reserved + [undated], "\(check.text)")
        }

        @Test func `a command line that is not understood ends with 2, help and version with 0`() throws {
            for (arguments, status) in [
                ([], 2), (["fly"], 2), (["serve"], 2), (["check"], 2), (["serve", "--workers"], 2),
                (["serve", "--listen", "nowhere", "/dev/null"], 1), (["token"], 2), (["--help"], 0), (["--version"], 0),
                (["serve", "--help"], 0), (["check", "--help"], 0), (["token", "mint", "--help"], 0),
            ] as [([String], Int32)] {
                let command = try Command(arguments)
                #expect(command.status == status, "\(arguments)")
                #expect(!command.text.isEmpty)
            }
        }

        @Test(arguments: ["HS256", "HS384", "HS512"]) func `a minted token is trusted`(algorithm: String) throws {
            let issuer: [String: Any] = [
                "issuer": Tokens.issuer, "audiences": ["cloakroom"], "algorithms": [algorithm],
                "secret": ["env": "TEST_TOKEN_SECRET"],
            ]
            try Stack.run("mint-\(algorithm)", Stack.Options { $0["tokens.issuers"] = [issuer] }) { stack in
                let mint = try Command(["token", "mint", "--user", "u_mint", "--device", "d", stack.settingsFile])
                #expect(mint.status == 0)
                let token = Secrets.keep(mint.text.trimmingCharacters(in: .newlines))
                #expect(try stack.ask(.presign(token)).status == 200)
            }
        }

        @Test func `it starts alone, says at once what is missing, and is ready when that has come`() throws {
            let port = try Ports.free()
            let upstream = "http://127.0.0.1:\(port)"
            let options = Stack.Options(redis: false) {
                $0["aws.s3Endpoint"] = upstream
                $0["aws.stsEndpoint"] = upstream
            }
            try Stack.run("alone", options) { stack in
                let worker = try #require(stack.server)
                try wait(for: "the first look") { try stack.ask(.ready)["s3"] != "not asked yet" }
                // What is unreachable would delay each of three; a busy machine delays one.
                func fastest(_ request: TestRequest) throws -> (reply: TestResponse, duration: Double) {
                    let (reply, first) = try timed { try stack.ask(request) }
                    let others = try (0..<2).map { _ in try timed { try stack.ask(request) }.1 }
                    return (reply, others.reduce(first, min))
                }
                let (reply, duration) = try fastest(.ready)
                #expect(reply.status == 503)
                #expect(duration < 100)
                #expect(reply.json["ready"] as? Bool == false)
                for name in ["redis", "sts", "s3"] { #expect(reply[name] != "ok") }
                for request in [TestRequest.vend(Tokens.fresh()), .vend("no.to.ken"), .presign(Tokens.fresh())] {
                    let (reply, duration) = try fastest(request)
                    #expect([200, 401, 503].contains(reply.status))
                    #expect(duration < 150)
                }
                #expect(ProcessTable.cpuTime(worker.pid) < 1000)

                let redis = try StackRedis(folder: stack.folder)
                defer { redis.stop() }
                try wait(for: "Redis alone", within: .seconds(3)) {
                    let reply = try stack.ask(.ready)
                    return reply.status == 503 && reply["redis"] == "ok" && reply["s3"] != "ok"
                }
                let relay = try Relay(from: port, to: try EndToEnd.s3().port)
                defer { relay.stop() }
                try wait(for: "readiness", within: .seconds(10)) { try stack.ask(.ready).status == 200 }
                #expect(try stack.ask(.ready).told == #"200 {"ready":true,"redis":"ok","sts":"ok","s3":"ok"}"#)
                #expect(try stack.ask(.vend(Tokens.fresh())).status == 200)
                #expect(worker.isRunning)
            }
        }

        /// As `deploy/iam` advises, the worker's policy may name the prefix of what is renewed, and nothing beside it.
        @Test func `readiness asks S3 for a key that may be asked for`() throws {
            let server = try HTTPServer { _ in [.answer(404, "<Error><Code>NoSuchKey</Code></Error>")] }
            defer { server.stop() }
            let options = Stack.Options(redis: false) {
                $0["aws.s3Endpoint"] = server.url
                $0["renewal.keyPrefix"] = "assets/"
            }
            try Stack.run("probe", options) { stack in
                try wait(for: "the look") { try stack.ask(.ready)["s3"] == "ok" }
                let targets = server.requests.map(\.target)
                #expect(Set(targets) == ["/\(SeaweedFS.bucket)/assets/cloakroom-readiness-probe"])
            }
        }

        @Test(arguments: [nil, 1])
        func `it listens on a port too, and is replaced there`(_ workers: Int?) throws {
            let port = try Ports.free()
            try Stack.run("port", .init(workers: workers, listen: "127.0.0.1:\(port)", waits: false)) { stack in
                func ask() throws -> TestResponse { try FastCGIClient(port: port).ask(.health) }
                try wait(for: "the worker") { (try? ask())?.status == 200 }
                guard workers != nil else { return }
                let old = stack.workers
                stack.server?.signal(SIGHUP)
                try wait(for: "the new worker") {
                    stack.logLines("all workers are replaced").count == 1 && Set(old).isDisjoint(with: stack.workers)
                }
                #expect(try ask().status == 200)
            }
        }

        @Test func `it answers soon after its start`() throws {
            let durations = try (0..<3).map { _ in
                var duration = 0.0
                try Stack.run("soon", .init(redis: false, waits: false)) { stack in
                    duration = try wait(for: "the first answer") { (try? stack.ask(.health))?.status == 200 }
                }
                return duration
            }
            // 100 ms for the release build; this one may be a debug build on a busy machine.
            #expect(try #require(durations.min()) < 500)
        }
    }
}
