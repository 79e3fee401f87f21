import CloakroomJOSE
import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct EventStreamTests {
    @LoopActor private func withStream(
        _ body: @LoopActor (EventStream, RedisConnection) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            try await body(EventStream(redis: redis, settings: .test(), keyPrefix: "c:"), redis)
        }
    }

    private func text(_ entries: [EventStream.Entry]) -> [String] {
        entries.map { String(decoding: $0.text, as: UTF8.self) }
    }

    @LoopActor private func take(
        _ stream: EventStream, as consumer: String = "one", new: Int = 10, from position: String = "-", page: Int = 10,
        claiming ids: [String] = [], idleFor idle: Duration = .zero
    ) async throws -> EventStream.Taken {
        try await stream.take(as: consumer, new: new, from: position, page: page, claiming: ids, idleFor: idle)
    }

    @Test @LoopActor func `each entry is given to one consumer, once`() async throws {
        try await withStream { stream, _ in
            #expect(try await stream.add(["a", "b", "c"]) == 0)
            let first = try await take(stream, new: 2)
            let second = try await take(stream, as: "two")
            #expect(text(first.new) == ["a", "b"] && text(second.new) == ["c"])
            #expect(second.pending.map(\.id) == first.new.map(\.id))
            #expect(second.pending.map(\.attempts) == [1, 1] && second.pendingCount == 3)
            #expect(try await take(stream).new == [])
        }
    }

    @Test @LoopActor func `what one consumer has another can claim, and only one does`() async throws {
        try await withStream { stream, _ in
            _ = try await stream.add(["a"])
            let id = try #require(try await take(stream).new.first?.id)
            #expect(try await take(stream, as: "two", claiming: [id], idleFor: .seconds(5)).claimed == [])
            try await LoopActor.sleep(for: .milliseconds(60))
            let two = try await take(stream, as: "two", claiming: [id], idleFor: .milliseconds(50))
            let three = try await take(stream, as: "three", claiming: [id], idleFor: .milliseconds(50))
            #expect(text(two.claimed) == ["a"] && three.claimed == [])
            #expect(three.pending.map(\.attempts) == [2])
        }
    }

    @Test @LoopActor func `a delivered entry is gone, a dead one is kept apart, and can be posted again`() async throws
    {
        try await withStream { stream, _ in
            _ = try await stream.add(["a", "b"])
            let entries = try await take(stream).new
            try await stream.settle(entries[0].id)
            #expect(try await stream.bury(entries[1], because: "attempts", attempts: 7, keeping: 100) == 0)
            #expect(try await stream.bury(entries[1], because: "attempts", attempts: 7, keeping: 100) == nil)
            #expect(try await stream.status() == .init(length: 0, pendingCount: 0, deadCount: 1, oldest: nil))
            let dead = try await stream.dead(after: nil, count: 10)
            #expect(dead.map { String(decoding: $0.text, as: UTF8.self) } == ["b"])
            #expect(dead.map(\.reason) == ["attempts"] && dead.map(\.attempts) == [7])
            #expect(try await stream.dead(after: dead[0].id, count: 10) == [])
            #expect(try await stream.revive(dead[0]) == .done)
            #expect(try await stream.revive(dead[0]) == .gone)
            #expect(text(try await take(stream).new) == ["b"])
            // None of those that wait is trimmed for it.
            try await stream.settle(try #require(try await take(stream, new: 0).pending.first?.id))
            _ = try await stream.add(["c"])
            let last = try #require(try await take(stream).new.first)
            #expect(try await stream.bury(last, because: "attempts", attempts: 7, keeping: 100) == 0)
            _ = try await stream.add([String](repeating: "x", count: 1000))
            let waiting = try await stream.status().length
            let again = try #require(try await stream.dead(after: nil, count: 10).first)
            #expect(try await stream.revive(again) == .full)
            let status = try await stream.status()
            #expect(status.length == waiting && status.deadCount == 1)
        }
    }

    @Test @LoopActor func `dead ones that are trimmed for another are counted`() async throws {
        try await withStream { stream, _ in
            _ = try await stream.add((0..<300).map { "\($0)" })
            var trimmed = 0
            for entry in try await take(stream, new: 300).new {
                trimmed += try #require(try await stream.bury(entry, because: "attempts", attempts: 7, keeping: 100))
            }
            let left = try await stream.status().deadCount
            #expect(trimmed > 0 && trimmed + left == 300)
        }
    }

    @Test @LoopActor func `a page of pending entries begins where it is told`() async throws {
        try await withStream { stream, _ in
            _ = try await stream.add((0..<5).map { "\($0)" })
            let ids = try await take(stream).new.map(\.id)
            let page = try await take(stream, page: 3).pending.map(\.id)
            #expect(page == Array(ids[..<3]))
            #expect(
                try await take(stream, from: EventStream.next(ids[2]), page: 3).pending.map(\.id) == Array(ids[3...]))
        }
    }

    @Test @LoopActor func `is bounded, tells how many were trimmed, and lets go of those that were given out`()
        async throws
    {
        try await withStream { stream, _ in
            var trimmed = 0
            _ = try await stream.add(["first"])
            let id = try #require(try await take(stream, new: 1).new.first?.id)
            for _ in 0..<50 { trimmed += try await stream.add([String](repeating: "x", count: 64)) }
            let length = try await stream.status().length
            #expect(length >= 1000 && length < 1200 && length + trimmed == 3201)
            // The entry is gone: claiming it gives nothing, and it is pending no more.
            let taken = try await take(stream, new: 0, claiming: [id])
            #expect(taken.claimed == [] && taken.pendingCount == 0)
        }
    }

    @Test @LoopActor func `makes its group again when Redis has lost all`() async throws {
        try await withStream { stream, redis in
            _ = try await stream.add(["a"])
            #expect(text(try await take(stream).new) == ["a"])
            _ = await redis.outcome("FLUSHALL")
            #expect(try await take(stream) == EventStream.Taken())
            _ = try await stream.add(["b"])
            #expect(text(try await take(stream).new) == ["b"])
        }
    }

    @Test @LoopActor func `a key of another kind is refused`() async throws {
        try await withStream { stream, redis in
            _ = await redis.outcome("SET", stream.key, "text")
            do throws(RedisError) {
                _ = try await stream.add(["a"])
                Issue.record("an event was added to a string")
            } catch {
                #expect(error == .refused(code: "WRONGTYPE"))
            }
            do {
                _ = try await take(stream)
                Issue.record("an event was taken from a string")
            } catch {
                #expect(error as? RedisError == .refused(code: "WRONGTYPE"))
            }
        }
    }
}

extension Settings.Events {
    /// - Parameter webhook: `nil` for one that is never called.
    static func test(_ url: String? = nil, maximumAttempts: Int = 100) -> Settings.Events {
        guard let key = HMACKey(Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8)) else {
            preconditionFailure("the secret is long enough")
        }
        return Settings.Events(
            stream: "events", maximumLength: 1000, tellsSignIns: true,
            webhook: .init(
                url: url ?? "http://127.0.0.1:9/", key: key, timeout: .milliseconds(100),
                maximumAttempts: maximumAttempts, maximumAge: .seconds(60), deadMaximumLength: 100))
    }
}
