import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// FAULTS row 15, where the audit goes to a Redis stream.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct AuditStreamTests {
    @LoopActor private func audit(
        _ redis: RedisConnection, maximumLength: Int = 1000, metrics: Metrics? = nil, log: LineSink? = nil
    ) throws -> AuditLog {
        let ids = Mutex(0)
        let stream = AuditStream(
            redis: redis, key: "c:audit", maximumLength: maximumLength, metrics: try metrics ?? Metrics(),
            log: Log(sink: log, level: .warning))
        return AuditLog(
            .stream(stream), worker: "w", process: 1,
            drawID: {
                let number = ids.withLock { ids in
                    ids += 1
                    return ids
                }
                return "000000000000000\(number)"
            })
    }

    private func issue(_ number: Int) -> AuditLog.Issuance {
        guard let user = UserID("u_1") else { preconditionFailure("a safe id") }
        let subject = Subject(userID: user, deviceID: nil, tier: "free", issuer: "https://a")
        return AuditLog.Issuance(
            .upload(objectKey: "key\(number)", until: Date(timeIntervalSince1970: 1)), to: subject, tier: nil,
            by: Request(method: "GET", target: "/"))
    }

    /// The stream's lines, and the faults in them.
    @LoopActor private func lines(_ redis: RedisConnection) async -> (lines: [String], faults: [String]) {
        guard case .success(.array(let entries)) = await redis.outcome("XRANGE", "c:audit", "-", "+") else {
            return ([], ["no stream"])
        }
        let found = Mutex<[String]>([])
        // Of a stream the oldest lines are trimmed.
        var verifier = AuditVerifier(isContinued: true) { fault in found.withLock { $0.append("\(fault)") } }
        var lines: [String] = []
        for entry in entries {
            guard case .array(let parts) = entry, case .array(let fields) = parts[1], case .text(let line) = fields[1]
            else { continue }
            lines.append(String(decoding: line, as: UTF8.self))
            verifier.verify(line, at: "stream")
        }
        verifier.finish()
        return (lines, found.withLock { $0 })
    }

    @LoopActor private func record(_ audit: AuditLog, _ numbers: Range<Int>) async -> [Bool] {
        var tasks: [Task<Bool, Never>] = []
        for number in numbers {
            let issue = issue(number)
            tasks.append(
                LoopActor.spawn {
                    await withCheckedContinuation { waiter in audit.record(issue) { waiter.resume(returning: $0) } }
                })
        }
        var outcomes: [Bool] = []
        for task in tasks { outcomes.append(await task.value) }
        return outcomes
    }

    @Test @LoopActor func `keeps every line, in order, in one chain`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            let audit = try audit(redis)
            #expect(await record(audit, 0..<600) == [Bool](repeating: true, count: 600))
            #expect(await record(audit, 600..<601) == [true])
            let (lines, faults) = await lines(redis)
            #expect(faults == [])
            #expect(lines.count == 601)
            for (number, line) in lines.enumerated() { #expect(line.contains("\"objectKey\":\"key\(number)\"")) }
        }
    }

    @Test @LoopActor func `keeps no more than it may, counts what it drops for that, and says so once`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            let metrics = try Metrics()
            let trimmed = metrics.layout.trimmedAuditLines.index
            let audit = try audit(
                redis, maximumLength: 100, metrics: metrics, log: try LineSink(path: folder["log"]))
            _ = await record(audit, 0..<100)
            #expect(metrics.row[trimmed] == 0)
            for begin in stride(from: 100, to: 1000, by: 300) { _ = await record(audit, begin..<begin + 300) }
            let (lines, faults) = await lines(redis)
            #expect((100..<300).contains(lines.count))
            #expect(faults == [])
            #expect(metrics.row[trimmed] == UInt64(1000 - lines.count))
            let log = try String(contentsOfFile: folder["log"], encoding: .utf8)
            #expect(log.split(separator: "\n").count == 1 && log.contains("audit.stream is full"), "\(log)")
        }
    }

    /// As a user of Redis that was made before lines were counted.
    @Test @LoopActor func `keeps lines without the right to count them, and says so once`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            #expect(await redis.outcome("ACL", "SETUSER", "default", "-xlen") == .success(.status("OK")))
            let metrics = try Metrics()
            let audit = try audit(
                redis, maximumLength: 100, metrics: metrics, log: try LineSink(path: folder["log"]))
            for begin in [0, 500] {
                #expect(await record(audit, begin..<begin + 500) == [Bool](repeating: true, count: 500))
            }
            #expect(await lines(redis).faults == [])
            #expect(metrics.row[metrics.layout.trimmedAuditLines.index] == 0)
            let log = try String(contentsOfFile: folder["log"], encoding: .utf8)
            #expect(log.split(separator: "\n").count == 1 && log.contains("Redis refuses XLEN"), "\(log)")
        }
    }

    @Test(arguments: [
        (["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]),
        (["CONFIG", "SET", "min-replicas-to-write", "1"], ["CONFIG", "SET", "min-replicas-to-write", "0"]),
        (["RENAME", "c:audit", "kept"], ["DEL", "c:audit"]),
    ])
    @LoopActor func `keeps nothing when Redis refuses, and goes on where it was`(spoil: [String], repair: [String])
        async throws
    {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            let audit = try audit(redis)
            #expect(await record(audit, 0..<2) == [true, true])
            _ = try await redis.send(RedisCommand(spoil))
            if spoil[0] == "RENAME" { _ = await redis.outcome("SET", "c:audit", "no stream") }
            #expect(await record(audit, 2..<5) == [false, false, false])
            _ = try await redis.send(RedisCommand(repair))
            if spoil[0] == "RENAME" { _ = await redis.outcome("RENAME", "kept", "c:audit") }
            #expect(await record(audit, 5..<7) == [true, true])
            let (lines, faults) = await lines(redis)
            #expect(faults == [])
            #expect(lines.map { $0.contains("key5") || $0.contains("key6") } == [false, false, true, true])
        }
    }

    @Test @LoopActor func `begins a new chain when nobody knows what was kept`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { other in
            try await withRedis(server.path, timeout: .milliseconds(40)) { redis in
                #expect(await redis.becomesReady(within: .seconds(5)))
                let audit = try audit(redis)
                #expect(await record(audit, 0..<2) == [true, true])
                #expect(await other.outcome("CLIENT", "PAUSE", "300", "ALL") == .success(.status("OK")))
                let start = ContinuousClock.now
                #expect(await record(audit, 2..<3) == [false])
                #expect(await record(audit, 3..<4) == [false])
                #expect(ContinuousClock.now - start < .milliseconds(250))
                #expect(await redis.becomesReady(within: .seconds(5)))
                #expect(await record(audit, 4..<5) == [true])
                let (lines, faults) = await lines(redis)
                #expect(faults == [])
                let last = try #require(lines.last)
                #expect(
                    last.hasSuffix(
                        #""sequence":1,"start":{"worker":"w","process":1,"follows":"0000000000000001"}}"#))
            }
        }
    }
}
