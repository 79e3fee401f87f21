import CloakroomCurl
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomServer

/// Real Redis, real HTTP, a webhook that does badly.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct EventDeliveryTests {
    @LoopActor
    private final class Place {
        let stream: EventStream
        let metrics: Metrics
        let redis: RedisConnection
        private let settings: Settings.Events

        init(_ redis: RedisConnection, _ settings: Settings.Events) throws {
            self.redis = redis
            self.settings = settings
            metrics = try Metrics()
            stream = EventStream(redis: redis, settings: settings, keyPrefix: "c:")
        }

        /// One worker's.
        func delivery(_ consumer: String = "one") throws -> EventDelivery {
            EventDelivery(
                stream, to: try #require(settings.webhook), by: LoopCurlTransport(), consumer: consumer,
                metrics: metrics,
                log: Log(sink: nil, level: .error))
        }

        func add(_ count: Int) async throws -> [String] {
            var ids = EventIDs()
            let events = (0..<count).map { number in
                Event(id: ids.next(), .userDisabled(reason: "test"), user: "u_\(number)", time: Date())
            }
            _ = try await stream.add(events.map(\.text))
            return events.map(\.id)
        }

        /// Runs workers until nothing is left, or the limit.
        func run(_ deliveries: [EventDelivery], within limit: Duration = .seconds(20)) async throws -> Bool {
            let end = ContinuousClock.now + limit
            while ContinuousClock.now < end {
                for delivery in deliveries { _ = await delivery.deliver() }
                if try await stream.status().length == 0 { return true }
                try await LoopActor.sleep(for: .milliseconds(20))
            }
            return false
        }

        func count(_ label: EventDeliveryLabel) -> UInt64 { metrics.row[metrics.layout.eventDeliveries[label]] }
    }

    @LoopActor private func withPlace(
        _ settings: Settings.Events, _ body: @LoopActor (Place) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in try await body(try Place(redis, settings)) }
    }

    private static func ids(_ server: HTTPServer) -> [String] {
        server.requests.compactMap { request in
            let object = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
            return object?["id"] as? String
        }
    }

    @Test @LoopActor func `posts each event, signed`() async throws {
        let server = try HTTPServer { _ in [.answer(204)] }
        let settings = Settings.Events.test(server.url + "/hook?a=b")
        try await withPlace(settings) { place in
            let sent = try await place.add(20)
            #expect(try await place.run([try place.delivery()]))
            #expect(Self.ids(server).sorted() == sent.sorted())
            let key = try #require(settings.webhook).key
            for request in server.requests {
                #expect(request.method == "POST" && request.target == "/hook?a=b")
                #expect(request["content-type"] == "application/json")
                let signature = try #require(request["cloakroom-signature"])
                let time = try #require(signature.firstMatch(of: /^t=(\d+),v1=[0-9a-f]{64}$/).flatMap { Int($0.1) })
                #expect(abs(Double(time) - Date().timeIntervalSince1970) < 60)
                #expect(WebhookSignature.value(of: request.body, at: time, key: key) == signature)
            }
            #expect(place.count(.delivered) == 20)
        }
    }

    /// 0 stands for none.
    private static let statuses: [(Int, EventDeliveryLabel)] = [
        (500, .unavailable), (429, .unavailable), (400, .refused), (302, .refused), (0, .interrupted),
    ]

    @Test(arguments: statuses)
    @LoopActor func `posts again what the webhook did not take`(status: Int, label: EventDeliveryLabel) async throws {
        let server = try HTTPServer { request in
            request.number > 0 ? [.answer(200)] : status == 0 ? [.end] : [.answer(status)]
        }
        try await withPlace(.test(server.url)) { place in
            let sent = try await place.add(1)
            #expect(try await place.run([try place.delivery()]))
            #expect(Self.ids(server) == sent + sent)
            #expect(place.count(label) == 1 && place.count(.delivered) == 1)
            #expect(try await place.stream.status().deadCount == 0)
        }
    }

    @Test @LoopActor func `a silent webhook holds nothing up for longer than the timeout`() async throws {
        let latch = Latch()
        let server = try HTTPServer { request in request.number < 8 ? [.wait(latch)] : [.answer(200)] }
        defer { latch.open() }
        try await withPlace(.test(server.url)) { place in
            let sent = try await place.add(12)
            let delivery = try place.delivery()
            let start = ContinuousClock.now
            _ = await delivery.deliver()
            #expect(ContinuousClock.now - start < .seconds(2))
            #expect(place.count(.timeout) == 8)
            // Nothing new is given out while it is unreachable.
            _ = await delivery.deliver()
            #expect(try await place.stream.status().pendingCount == 8)
            #expect(try await place.run([delivery]))
            #expect(Set(Self.ids(server)) == Set(sent))
        }
    }

    @Test @LoopActor func `what a worker had when it ended another posts`() async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        try await withPlace(.test(server.url)) { place in
            let sent = try await place.add(5)
            // The first worker takes them, and is killed before it posts any.
            let taken = try await place.stream.take(
                as: "one", new: 5, from: "-", page: 10, claiming: [], idleFor: .zero)
            #expect(taken.new.count == 5)
            #expect(try await place.run([try place.delivery("two"), try place.delivery("three")]))
            #expect(Self.ids(server).sorted() == sent.sorted(), "each once, for the two workers claim by turns")
        }
    }

    @Test @LoopActor func `an event that is refused to the last is dead, and holds up no other`() async throws {
        let bad = Mutex<String?>(nil)
        let server = try HTTPServer { request in
            let isBad = bad.withLock { bad in
                bad.map { String(decoding: request.body, as: UTF8.self).contains($0) } ?? false
            }
            return [.answer(isBad ? 422 : 200)]
        }
        try await withPlace(.test(server.url, maximumAttempts: 2)) { place in
            let sent = try await place.add(4)
            bad.withLock { $0 = sent[1] }
            #expect(try await place.run([try place.delivery()]))
            let dead = try await place.stream.dead(after: nil, count: 10)
            #expect(dead.count == 1 && dead.first?.attempts == 2 && dead.first?.reason == "attempts")
            #expect(dead.first.map { String(decoding: $0.text, as: UTF8.self).contains(sent[1]) } == true)
            #expect(place.count(.refused) == 2 && place.count(.delivered) == 3)
            #expect(place.metrics.row[place.metrics.layout.lostEvents[.dead]] == 1)
        }
    }

    /// Whatever the receiver says of them, those that it does take reach it.
    @Test(arguments: [(1, 500), (1, 0), (1003, 400)])
    @LoopActor func `events that are never taken hold up no other`(bad: Int, status: Int) async throws {
        let never = Mutex<Set<String>>([])
        let server = try HTTPServer { request in
            let text = String(decoding: request.body, as: UTF8.self)
            guard never.withLock({ never in never.contains { text.contains($0) } }) else { return [.answer(200)] }
            return status == 0 ? [.end] : [.answer(status)]
        }
        var settings = Settings.Events.test(server.url)
        settings.maximumLength = 3000
        try await withPlace(settings) { place in
            let sent = try await place.add(bad)
            never.withLock { $0 = Set(sent) }
            _ = try await place.add(12)
            let delivery = try place.delivery()
            let end = ContinuousClock.now + .seconds(20)
            while place.count(.delivered) < 12, ContinuousClock.now < end {
                if await !delivery.deliver() { try await LoopActor.sleep(for: .milliseconds(20)) }
            }
            #expect(place.count(.delivered) == 12)
            #expect(try await place.stream.status().length == bad)
        }
    }

    @Test @LoopActor func `what no worker wrote is dead, and is not posted`() async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        try await withPlace(.test(server.url)) { place in
            _ = await place.redis.outcome("XADD", place.stream.key, "*", "other", "field")
            _ = try await place.stream.add(["no JSON"])
            #expect(try await place.run([try place.delivery()]))
            #expect(try await place.stream.dead(after: nil, count: 10).map(\.reason) == ["malformed", "malformed"])
            #expect(server.requests == [])
        }
    }

    @Test @LoopActor func `a recorder writes when Redis is back what came meanwhile, each event once`() async throws {
        let folder = try TemporaryFolder()
        let metrics = try Metrics()
        let settings = Settings.Events.test()
        try await withRedis(folder["r.sock"]) { redis in
            let stream = EventStream(redis: redis, settings: settings, keyPrefix: "c:")
            let recorder = EventRecorder(
                stream, settings: settings, metrics: metrics, log: Log(sink: nil, level: .error))
            for number in 0..<200 {
                recorder.record(.userDisabled(reason: "r"), of: "u_\(number)", by: Request(method: "POST", path: "/"))
            }
            try await LoopActor.sleep(for: .milliseconds(50))
            #expect(recorder.waitingCount == 200)
            let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
            defer { server.kill() }
            let end = ContinuousClock.now + .seconds(10)
            while recorder.waitingCount > 0, ContinuousClock.now < end {
                try await LoopActor.sleep(for: .milliseconds(20))
            }
            #expect(try await stream.status().length == 200)
            #expect(metrics.row[metrics.layout.events[.userDisabled]] == 200)
            await recorder.finish()
            #expect(EventLossLabel.allCases.allSatisfy { metrics.row[metrics.layout.lostEvents[$0]] == 0 })
        }
    }
}
