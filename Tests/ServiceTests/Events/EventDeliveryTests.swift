import CloakroomAWS
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomServer

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct EventDeliveryTests {
    private static let time = Date(timeIntervalSince1970: 1_800_000_000)
    /// By its clock the entry is new, whenever the tests run.
    private let runtime = RuntimeDependencies(wallClock: { Self.time })

    private func settings(maximumAttempts: Int) throws -> Settings.Events {
        let key = try #require(HMACKey(Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8)))
        return Settings.Events(
            stream: "events", maximumLength: 1000, tellsSignIns: true,
            webhook: .init(
                url: "https://hook.example/", key: key, timeout: .seconds(1), maximumAttempts: maximumAttempts,
                maximumAge: .seconds(3600), deadMaximumLength: 100))
    }

    /// What Redis responds when a worker takes an entry that is new, and none is pending.
    private func taken(_ text: String) -> String {
        let entry = "*2\r\n" + .redisText("1800000000000-0") + .redisArray(["event", text])
        return "*4\r\n*0\r\n*1\r\n\(entry)*0\r\n:0\r\n"
    }

    @Test @LoopActor func `an event of a type that a later version added is posted as well`() async throws {
        let text = #"{"id":"e_1","type":"of.tomorrow"}"#
        let redis = FakeRedis([taken(text), ":1\r\n"])
        let (settings, metrics) = (try settings(maximumAttempts: 1), try Metrics())
        let transport = ScriptedTransport { _ in .text(200, "") }
        let delivery = EventDelivery(
            EventStream(redis: redis, settings: settings, keyPrefix: "c:"), to: try #require(settings.webhook),
            by: transport, consumer: "one", metrics: metrics, log: Log(sink: nil, level: .error), runtime: runtime)
        _ = await delivery.deliver()
        #expect(transport.requests.map(\.body) == [Array(text.utf8)])
        #expect(metrics.row[metrics.layout.lostEvents[.dead]] == 0)
    }

    @Test(arguments: [(1, true), (2, false)])
    @LoopActor func `an event is dead as soon as its last attempt has failed, and pending before`(
        maximumAttempts: Int, isDead: Bool
    ) async throws {
        var ids = EventIDs()
        let event = Event(id: ids.next(), .userDisabled(reason: "r"), user: "u_1", time: Self.time)
        // Then, that it was moved, and five dead ones are gone for it.
        let redis = FakeRedis([taken(event.text), ":6\r\n"])
        let (settings, metrics) = (try settings(maximumAttempts: maximumAttempts), try Metrics())
        let transport = ScriptedTransport { _ in .text(500, "") }
        let delivery = EventDelivery(
            EventStream(redis: redis, settings: settings, keyPrefix: "c:"), to: try #require(settings.webhook),
            by: transport, consumer: "one", metrics: metrics, log: Log(sink: nil, level: .error), runtime: runtime)
        _ = await delivery.deliver()
        #expect(transport.requests.map(\.body) == [Array(event.text.utf8)])
        #expect(redis.requests.count == (isDead ? 2 : 1))
        #expect(metrics.row[metrics.layout.lostEvents[.dead]] == (isDead ? 1 : 0))
        #expect(metrics.row[metrics.layout.lostEvents[.deadTrimmed]] == (isDead ? 5 : 0))
    }
}
