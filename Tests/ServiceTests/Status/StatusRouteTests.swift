import CloakroomAWS
import CloakroomCrypto
import CloakroomJSON
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct StatusRouteTests {
    @LoopActor private func status(of service: TestService) async throws -> JSON.Object {
        let response = await service.ask("GET", "/status")
        #expect(response.hasPrefix("200\nContent-Type: application/json\nCache-Control: no-store\n"))
        let body = try #require(response.split(separator: "\n", omittingEmptySubsequences: false).last)
        return try #require(try JSON(parsing: Array(body.utf8)).object)
    }

    @Test @LoopActor func `says how the worker is`() async throws {
        let service = try TestService()
        // The window begins with the first look.
        _ = try await status(of: service)
        for _ in 1...3 {
            #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token()).hasPrefix("200"))
        }
        let status = try await status(of: service)
        let all = try #require(status["all"]?.object)
        #expect(all["workers"]?.integer == 1)
        #expect(all["minute"]?.object?["requests"]?.integer == 3)
        #expect(all["sts"]?.object?["attempts"]?.integer == 1)
        #expect(all["cache"]?.object?["lookups"]?.integer == 3)
        #expect(all["cache"]?.object?["hits"]?.integer == 2)
        let worker = try #require(status["workers"]?.array?.first?.object)
        #expect(worker["worker"]?.string == "w" && worker["process"]?.integer == 1)
        #expect(worker["inFlight"]?.integer == 0, "this request is not an app's")
        let routes = try #require(worker["routes"]?.array).compactMap(\.object)
        #expect(routes.first?["route"]?.string == "/api/v1/auth/sts-token")
        #expect(routes.first?["inFlight"]?.integer == 0)
        #expect(routes.last?["route"]?.string == "/status")
        #expect(worker["redis"]?.object?["ready"] == .bool(false))
        #expect(worker["redis"]?.object?["role"]?.string == "unknown")
        #expect(worker["breakers"]?.array?.isEmpty == true, "one role needs none")
        #expect(worker["credentials"]?.array?.first?.object?["provider"]?.string == "settings")
        #expect(worker["queues"]?.object?["credentialsHeld"]?.integer == 1)
        #expect(worker["faults"]?.object?["redis"] != nil)
        #expect(worker["memory"]?.object?["residentBytes"]?.integer ?? 0 > 1 << 20)
    }

    @Test @LoopActor func `tells nothing where nginx does not vouch for the network`() async throws {
        let service = try TestService()
        let response = await service.ask("GET", "/status", isLocal: false)
        #expect(
            response.hasPrefix("403") && response.hasSuffix(#"{"error":"Only for local networks","code":"forbidden"}"#))
        #expect(await service.ask("HEAD", "/status", isLocal: false).hasPrefix("403"))
    }

    @Test @LoopActor func `failures are counted by what they are, and name no user`() async throws {
        let service = try TestService(
            transport: { _ in .error(503, "ServiceUnavailable") })
        for user in ["u_1", "u_2"] {
            #expect(
                await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token(user)).hasPrefix("503"))
        }
        let response = await service.ask("GET", "/status")
        for secret in ["u_1", "u_2", "AKID", "secret", "eyJ", "192.0.2.1"] { #expect(!response.contains(secret)) }
        let status = try await status(of: service)
        let worker = try #require(status["workers"]?.array?.first?.object)
        let failure = try #require(
            worker["failures"]?.array?.compactMap(\.object).first { $0["message"]?.string == "request" })
        #expect(failure["count"]?.integer == 2)
        #expect(failure["level"]?.string == "warning")
    }

    @Test func `the list of failures stays short, with the latest`() {
        var failures = RecentFailures()
        for number in 1...100 {
            failures.note(
                .error, "request", reason: "reason \(number)", at: Date(timeIntervalSince1970: Double(number)))
        }
        failures.note(.error, "request", reason: "reason 100", at: Date(timeIntervalSince1970: 101))
        #expect(failures.entries.count == RecentFailures.maximumEntries)
        #expect(failures.entries.last?.count == 2)
        #expect(failures.entries.contains { $0.reason == "reason 85" })
        #expect(!failures.entries.contains { $0.reason == "reason 84" })
    }

    @Test @LoopActor func `any worker tells of all`() async throws {
        let folder = try TemporaryFolder()
        let (first, second) = (try board("unix:/1.sock", 1, folder), try board("unix:/2.sock", 2, folder))
        first.start()
        second.start()
        let status = try object(second.response())
        #expect(status["workers"]?.array?.compactMap { $0.object?["process"]?.integer } == [2, 1])
        #expect(status["all"]?.object?["workers"]?.integer == 2)
        first.remove()
        #expect(try object(second.response())["workers"]?.array?.count == 1)
        second.remove()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix("status") } == [])
    }

    @Test @LoopActor func `a worker that has not been heard of for long is left out, and later its file removed`()
        async throws
    {
        let folder = try TemporaryFolder()
        let own = try board("unix:/1.sock", 1, folder)
        let path = folder["unix--2-sock-2-\(MetricsLayout().fingerprint).status"]
        let other = try MappedReport(path: path, numbers: 2, textBytes: 100)
        let start = Monotonic.now
        // Of another layout: listed, and not added up.
        other.write([1, 2], Array(#""process":2"#.utf8), at: start)
        let workers = try #require(try object(own.response(at: start + 10_000_000_000))["workers"]?.array)
        #expect(workers.count == 2)
        #expect(workers.last?.object?["ageMilliseconds"]?.integer == 10_000)
        #expect(try object(own.response(at: start + 31_000_000_000))["workers"]?.array?.count == 1)
        #expect(FileManager.default.fileExists(atPath: path), "it may only have been stopped")
        #expect(try object(own.response(at: start + 3_601_000_000_000))["workers"]?.array?.count == 1)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test @LoopActor func `a worker that starts removes what killed ones left, and nothing else`() async throws {
        let folder = try TemporaryFolder()
        func report(_ name: String, at instant: UInt64?) throws -> MappedReport {
            let report = try MappedReport(path: folder["\(name).status"], numbers: 1, textBytes: 16)
            if let instant { report.write([], Array(#""process":2"#.utf8), at: instant) }
            return report
        }
        let hours: UInt64 = 3600 * 1_000_000_000
        let now = Monotonic.now
        let reports = [
            try report("running", at: now), try report("begins", at: nil), try report("never-written", at: nil),
            // Of the time before the system was started anew.
            try report("earlier-boot", at: now + 90 * 24 * hours),
            // The system may not run for so long yet.
            try report("stopped", at: now > 2 * hours ? now - 2 * hours : now + 2 * hours),
        ]
        for name in ["never-written", "running"] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -7200)], ofItemAtPath: folder["\(name).status"])
        }
        let own = try board("unix:/1.sock", 1, folder)
        own.start()
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".status") }
        #expect(left.filter { !$0.hasPrefix("unix") }.sorted() == ["begins.status", "running.status"])
        #expect(try object(own.response())["all"]?.object?["workers"]?.integer == 2)
        withExtendedLifetime(reports) {}
    }

    @Test @LoopActor func `one that drains is listed, and what it counted is its successor's`() async throws {
        let folder = try TemporaryFolder()
        let (old, new) = (try board("unix:/1.sock", 1, folder), try board("unix:/1.sock", 2, folder))
        old.own.isDraining = true
        old.start()
        #expect(old.own.report().numbers.allSatisfy { $0 == 0 })
        let workers = try #require(try object(new.response())["workers"]?.array)
        #expect(workers.compactMap { $0.object?["draining"]?.bool } == [false, true])
    }

    @Test @LoopActor func `neither one that drains nor one that was killed and has a successor is in the number`()
        async throws
    {
        let folder = try TemporaryFolder()
        let (own, other) = (try board("unix:/1.sock", 1, folder), try board("unix:/2.sock", 2, folder))
        let (killed, successor) = (try board("unix:/3.sock", 3, folder), try board("unix:/3.sock", 4, folder))
        func count() throws -> [Int?] {
            let status = try object(own.response())
            return [status["all"]?.object?["workers"]?.integer, status["workers"]?.array?.count]
        }
        for board in [other, killed, successor] { board.start() }
        #expect(try count() == [3, 4])
        other.own.isDraining = true
        other.start()
        #expect(try count() == [2, 4])
        own.own.isDraining = true
        #expect(try count() == [1, 4])
    }

    @Test @LoopActor func `however long its parts are, a status fits into its place`() async throws {
        let service = try TestService(
            probes: ["a", "b", "c", "d"].map { name in
                (name, { String(repeating: "\"\\\u{1}é", count: 5000) })
            },
            transport: { _ in .error(503, String(repeating: "\"x", count: 300)) })
        for user in 1...40 {
            _ = await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token("u_\(user)"))
        }
        let watching = LoopActor.spawn { await service.service.watchReadiness() }
        try await LoopActor.sleep(for: .milliseconds(50))
        let status = try await status(of: service)
        watching.cancel()
        #expect(status["workers"]?.array?.first?.object?["faults"]?.object?.members.count == 4)
    }

    @Test @LoopActor func `the response stays within its bound however many workers there are`() async throws {
        let folder = try TemporaryFolder()
        let own = try board("unix:/1.sock", 1, folder)
        let text = Array((#""text":""# + String(repeating: "x", count: 20_000) + "\"").utf8)
        let others = try (2...60).map { number in
            let report = try MappedReport(path: folder["w-\(number)-x.status"], numbers: 1, textBytes: 24_000)
            report.write([], text)
            return report
        }
        let status = try object(own.response())
        let listed = try #require(status["workers"]?.array?.count)
        #expect(listed < 60 && listed > 40)
        #expect(status["omitted"]?.integer == 60 - listed)
        #expect(own.response().response.body.count < StatusBoard.maximumBytes + 1024)
        withExtendedLifetime(others) {}
    }

    @LoopActor private func object(_ answer: RouteResponse) throws -> JSON.Object {
        try #require(try JSON(parsing: answer.response.body).object)
    }

    @LoopActor private func board(_ worker: String, _ process: Int, _ folder: TemporaryFolder) throws -> StatusBoard {
        let read = try settings(smallest(TestService.open))
        let transport = ScriptedTransport { .assumed(for: $0) }
        var dependencies = ServiceDependencies(
            transport: transport,
            credentials: WorkerCredentials(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            issuers: transport, redis: UnreachableRedis(), log: Log(sink: nil, level: .debug), metrics: try Metrics(),
            metricsFolder: MetricsFolder(path: folder.path), worker: worker, process: process)
        dependencies.version = "1.2.3"
        return try ServiceBuilder(read, dependencies).status
    }
}
