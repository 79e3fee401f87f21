import CloakroomHTTP
import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomServer

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct EventRecorderTests {
    private let settings = Settings.Events(stream: "events", maximumLength: 1000, tellsSignIns: false)

    @LoopActor private func recorder(
        _ metrics: Metrics, _ redis: any RedisClient = UnreachableRedis(), log: String? = nil,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await LoopActor.sleep(for: $0) }
    ) throws -> EventRecorder {
        EventRecorder(
            EventStream(redis: redis, settings: settings, keyPrefix: "c:"), settings: settings, metrics: metrics,
            log: Log(sink: try log.map { try LineSink(path: $0) }, level: .error), sleep: sleep)
    }

    private let request = Request(method: "POST", path: "/")

    @Test @LoopActor func `without Redis events are kept within a bound, and what more comes is counted`() async throws
    {
        let metrics = try Metrics()
        let recorder = try recorder(metrics, sleep: { _ in try await LoopActor.sleep(for: .zero) })
        let key = String(repeating: "k", count: 1000)
        for _ in 0..<5000 { recorder.record(.uploadCompleted(objectKey: key), of: "u_1", by: request) }
        let kept = recorder.waitingCount
        // Each is the key and about 150 bytes.
        #expect((3500..<4194).contains(kept))
        #expect(metrics.row[metrics.layout.lostEvents[.memory]] == UInt64(5000 - kept))
        try await LoopActor.sleep(for: .milliseconds(20))
        await recorder.finish()
        #expect(metrics.row[metrics.layout.lostEvents[.memory]] == 5000)
        #expect(metrics.row[metrics.layout.events[.uploadCompleted]] == 0)
    }

    @Test @LoopActor func `the log says once that events are dropped, and again when they are after Redis took some`()
        async throws
    {
        let folder = try TemporaryFolder()
        let redis = FakeRedis()
        let recorder = try recorder(try Metrics(), redis, log: folder["log"])
        for lines in 1...2 {
            let key = String(repeating: "k", count: 1000)
            for _ in 0..<5000 { recorder.record(.uploadCompleted(objectKey: key), of: "u_1", by: request) }
            try await turns { redis.pendingCount == 1 }
            let text = try String(contentsOfFile: folder["log"], encoding: .utf8)
            #expect(text.split(separator: "\n").count == lines)
            try await turns {
                redis.reply([":0\r\n"])
                return recorder.waitingCount == 0
            }
        }
    }

    @Test @LoopActor func `the end waits for the response to what Redis was sent last`() async throws {
        let metrics = try Metrics()
        let redis = FakeRedis([":0\r\n"])
        let recorder = try recorder(metrics, redis)
        recorder.record(.userDisabled(reason: "a"), of: "u_1", by: request)
        try await turns { recorder.waitingCount == 0 }
        recorder.record(.userDisabled(reason: "b"), of: "u_1", by: request)
        try await turns { redis.pendingCount == 1 }
        let end = LoopActor.spawn { await recorder.finish() }
        try await LoopActor.sleep(for: .zero)
        redis.reply([":0\r\n"])
        await end.value
        #expect(metrics.row[metrics.layout.lostEvents[.memory]] == 0)
        #expect(metrics.row[metrics.layout.events[.userDisabled]] == 2)
    }

    @Test @LoopActor func `the end does not wait for the time of the next attempt`() async throws {
        let metrics = try Metrics()
        let redis = FakeRedis(["-READONLY You can't write against a read only replica.\r\n"])
        let recorder = try recorder(metrics, redis, sleep: { _ in try await LoopActor.sleep(for: .seconds(3600)) })
        let failures = Mutex(0)
        recorder.onFailure = { _ in failures.withLock { $0 += 1 } }
        recorder.record(.userDisabled(reason: "r"), of: "u_1", by: request)
        try await turns { failures.withLock { $0 } == 1 }
        redis.reply([":0\r\n"])
        await recorder.finish()
        #expect(metrics.row[metrics.layout.lostEvents[.memory]] == 0)
        #expect(metrics.row[metrics.layout.events[.userDisabled]] == 1)
    }

    @Test(arguments: [4, 5])
    @LoopActor func `the end gives up when five attempts that began in it have failed`(failures: Int) async throws {
        let metrics = try Metrics()
        let redis = FakeRedis()
        let pauses = Mutex<[Duration]>([])
        let recorder = try recorder(metrics, redis, sleep: { pause in pauses.withLock { $0.append(pause) } })
        recorder.record(.userDisabled(reason: "r"), of: "u_1", by: request)
        try await turns { redis.pendingCount == 1 }
        let end = LoopActor.spawn { await recorder.finish() }
        try await LoopActor.sleep(for: .zero)
        // The first is to the attempt from before.
        redis.reply(Array(repeating: "-READONLY You can't write.\r\n", count: 1 + failures) + [":0\r\n"])
        await end.value
        #expect(redis.requests.count == 6)
        #expect(pauses.withLock { $0 } == Array(repeating: Duration.seconds(1), count: 5))
        let lost: UInt64 = failures < 5 ? 0 : 1
        #expect(metrics.row[metrics.layout.lostEvents[.memory]] == lost)
        #expect(metrics.row[metrics.layout.events[.userDisabled]] == 1 - lost)
    }

    @Test @LoopActor func `what waits when the end is cut off is counted once`() async throws {
        let metrics = try Metrics()
        let redis = FakeRedis()
        let recorder = try recorder(metrics, redis)
        recorder.record(.userDisabled(reason: "r"), of: "u_1", by: request)
        try await turns { redis.pendingCount == 1 }
        let end = LoopActor.spawn { await recorder.finish() }
        try await LoopActor.sleep(for: .zero)
        for _ in 0..<2 {
            recorder.abandon()
            #expect(metrics.row[metrics.layout.lostEvents[.memory]] == 1)
        }
        redis.reply([":0\r\n"])
        await end.value
    }

    /// Lets the loop turn until a condition holds.
    @LoopActor private func turns(until condition: @LoopActor () -> Bool) async throws {
        try await until(within: .seconds(5)) {
            condition()
        } pause: {
            try await LoopActor.sleep(for: .zero)
        }
    }

    @Test @LoopActor func `sign-ins are told where the settings say so`() throws {
        let recorder = try recorder(try Metrics())
        recorder.record(.userSignedIn(deviceID: nil), of: "u_1", by: request)
        #expect(recorder.waitingCount == 0)
        recorder.record(.userDisabled(reason: "r"), of: "u_1", by: request)
        #expect(recorder.waitingCount == 1)
    }

    @Test @LoopActor func `a service without Redis responds as without events`() async throws {
        let more = "events: {stream: \"events\"}, limits: {renew: {requests: 9}}"
        for settings in [more, "limits: {renew: {requests: 9}}"] {
            let service = try TestService(settings) { request in request.method == "PUT" ? .copied : .error(500, "x") }
            let answer = await service.ask(
                "POST", "/v2/assets/renew-batch", token: try service.token(),
                fields: ["Content-Type": "application/json"],
                body: #"{"assetKeys":["a.bin"]}"#)
            #expect(answer.hasPrefix("200\n") && answer.contains(#""renewed":1"#))
        }
    }
}
