import CloakroomAWS
import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomTestSupport
import CloakroomWire
import Foundation
import Synchronization
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct RenewerTests {
    @Test @LoopActor func `copies a key once, and answers for each time it was sent, in order`() async throws {
        let asked = Mutex<[String]>([])
        let renewer = try Renewer.test(prefix: "assets/") { key in
            asked.withLock { $0.append(key) }
            return key == "assets/b" ? .notFound : .renewed(expiration: Renewer.testTime + 5)
        }
        let a = RenewResult(key: "a", renewedUntil: Renewer.testTime + 5)
        let b = RenewResult(key: "b", failure: .notFound)
        #expect(await renewer.renew(["a", "b", "a", "a", "b"]) == .results([a, b, a, a, b]))
        #expect(asked.withLock { $0.sorted() } == ["assets/a", "assets/b"])
    }

    @Test @LoopActor
    func `tells each object once that S3 has copied, wherever it was found, whatever became of others`()
        async throws
    {
        let renewer = try Renewer.test(prefix: "assets/", others: ["old/"]) { key in
            switch key {
            case "assets/a", "old/b": .renewed(expiration: nil)
            case "assets/c": .recentlyWritten(expiration: nil)
            case "assets/d": .unavailable(retryAfter: nil, code: "SlowDown")
            default: .notFound
            }
        }
        var told: [[String]] = []
        let outcome = await renewer.renew(["a", "b", "a", "c", "d"]) { told.append($0) }
        #expect(outcome == .tryAgain(after: .seconds(5), code: "SlowDown"))
        #expect(told.map { $0.sorted() } == [["assets/a", "old/b"]])
    }

    @Test(arguments: [
        "", ".", "..", ".a", "-a", "_a", "a/b", "/a", "a/../b", "a b", "a+b", "a%2Fb", "a?versionId=1", "a#b", "a\n",
        "a\r\nX: y",
        "a\u{0}", "ä", "a\u{301}", "а", "*", "${user}", String(repeating: "a", count: 256),
    ])
    @LoopActor func `sends no key that is more than a name`(key: String) async throws {
        let metrics = try Metrics()
        let renewer = try Renewer.test(metrics: metrics) { key in
            Issue.record("\(key)")
            return .recentlyWritten(expiration: nil)
        }
        #expect(
            await renewer.renew([key, key])
                == .results([RenewResult](repeating: .init(key: key, failure: .invalidKey), count: 2)))
        #expect(metrics.row[metrics.layout.renewals[.invalidKey]] == 1)
    }

    @Test @LoopActor func `a name that is found among images of chats alone is forbidden, and not called gone`()
        async throws
    {
        let looked = Mutex<[String]>([])
        var settings = Settings.Renewal(
            mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: "", otherPrefixes: ["assets/"],
            maximumInFlight: 4, partialFailure: .retry, retention: .seconds(86_400))
        settings.chatKeyPrefix = "chats/"
        let renewer = Renewer(
            settings: settings, requestDeadline: .seconds(15), metrics: try Metrics(),
            chatImage: { key, _ in
                looked.withLock { $0.append(key) }
                switch key {
                case "chats/image.bin": return .unrenewableObject(code: "ChatImage")
                default: return .notFound
                }
            },
            renew: { key, _ in
                Renewal(
                    outcome: key == "assets/asset.bin" ? .recentlyWritten(expiration: nil) : .notFound,
                    counts: AttemptCounts(attempts: 1))
            })
        #expect(
            await renewer.renew(["image.bin", "asset.bin", "gone.bin", "chats/image.bin"])
                == .results([
                    RenewResult(key: "image.bin", failure: .forbidden),
                    RenewResult(key: "asset.bin", renewedUntil: nil),
                    RenewResult(key: "gone.bin", failure: .notFound),
                    RenewResult(key: "chats/image.bin", failure: .forbidden),
                ]))
        #expect(looked.withLock { $0.sorted() } == ["chats/gone.bin", "chats/image.bin"])
    }

    /// It is no asset that could be lost, and it may be an image of a chat: the other keys need not wait for a policy.
    @Test(arguments: [Settings.Renewal.PartialFailure.retry, .report])
    @LoopActor func `a name is forbidden where the worker may not look among images of chats; others have results`(
        failure: Settings.Renewal.PartialFailure
    ) async throws {
        var settings = Settings.Renewal(
            mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: "", otherPrefixes: ["assets/"],
            maximumInFlight: 4, partialFailure: failure, retention: .seconds(86_400))
        settings.chatKeyPrefix = "chats/"
        let metrics = try Metrics()
        let renewer = Renewer(
            settings: settings, requestDeadline: .seconds(15), metrics: metrics,
            chatImage: { _, _ in .accessDenied(code: "AccessDenied") },
            renew: { key, _ in
                Renewal(
                    outcome: key == "asset.bin" ? .recentlyWritten(expiration: nil) : .notFound,
                    counts: AttemptCounts(attempts: 1))
            })
        #expect(
            await renewer.renew(["gone.bin", "asset.bin", "gone.bin"])
                == .results(
                    [
                        RenewResult(key: "gone.bin", failure: .forbidden),
                        RenewResult(key: "asset.bin", renewedUntil: nil),
                        RenewResult(key: "gone.bin", failure: .forbidden),
                    ], misconfiguration: "AccessDenied"))
        // For this label there is an alert.
        #expect(metrics.row[metrics.layout.renewals[.accessDenied]] == 1)
        #expect(await renewer.renew(["asset.bin"]) == .results([RenewResult(key: "asset.bin", renewedUntil: nil)]))
    }

    @Test(arguments: ["a", "0", "a.bin", "A-Z_0.9", "a..b", String(repeating: "a", count: 255)])
    @LoopActor func `sends a name`(key: String) async throws {
        let renewer = try Renewer.test { _ in .recentlyWritten(expiration: nil) }
        #expect(await renewer.renew([key]) == .results([RenewResult(key: key, renewedUntil: nil)]))
    }

    @Test(
        arguments: [
            (.renewed(expiration: nil), RenewResult(key: "a", renewedUntil: Renewer.testTime + 86_400)),
            (.recentlyWritten(expiration: nil), RenewResult(key: "a", renewedUntil: nil)),
            (
                .recentlyWritten(expiration: Date(timeIntervalSince1970: 9)),
                RenewResult(key: "a", renewedUntil: Date(timeIntervalSince1970: 9))
            ), (.notFound, RenewResult(key: "a", failure: .notFound)),
            (.archived, RenewResult(key: "a", failure: .archived)),
            (.invalidKey, RenewResult(key: "a", failure: .invalidKey)),
            (.unrenewableObject(code: "x"), RenewResult(key: "a", failure: .forbidden)),
        ] as [(Renewal.Outcome, RenewResult)])
    @LoopActor func `has a word for each outcome`(outcome: Renewal.Outcome, result: RenewResult) async throws {
        #expect(await (try Renewer.test { _ in outcome }).renew(["a"]) == .results([result]))
    }

    @Test @LoopActor func `promises no end where assets never expire, unless S3 tells one`() async throws {
        let end = Date(timeIntervalSince1970: 9)
        for expiration in [nil, end] {
            let renewer = try Renewer.test(retention: nil) { _ in .renewed(expiration: expiration) }
            #expect(await renewer.renew(["a"]) == .results([RenewResult(key: "a", renewedUntil: expiration)]))
        }
    }

    @Test(arguments: [(nil, 5), (Duration.seconds(2), 5), (.seconds(30), 30)] as [(Duration?, Int)])
    @LoopActor func `answers for nobody when one key may pass later, unless it is told to`(
        retryAfter: Duration?, seconds: Int
    ) async throws {
        let renew: @Sendable (String) async -> Renewal.Outcome = {
            $0 == "slow" ? .unavailable(retryAfter: retryAfter, code: "SlowDown") : .recentlyWritten(expiration: nil)
        }
        #expect(
            await (try Renewer.test(.retry, renew)).renew(["a", "slow"])
                == .tryAgain(after: .seconds(seconds), code: "SlowDown"))
        #expect(
            await (try Renewer.test(.report, renew)).renew(["a", "slow"])
                == .results([
                    RenewResult(key: "a", renewedUntil: nil), RenewResult(key: "slow", failure: .internalError),
                ]))
    }

    @Test @LoopActor func `reports misconfigurations before retryable failures, and the longest wait`() async throws {
        let outcomes: [String: Renewal.Outcome] = [
            "a": .unavailable(retryAfter: .seconds(7), code: "SlowDown"),
            "b": .unavailable(retryAfter: .seconds(40), code: "InternalError"),
            "c": .misconfigured(code: "NoSuchBucket"),
        ]
        let renewer = try Renewer.test { outcomes[$0] ?? .recentlyWritten(expiration: nil) }
        #expect(await renewer.renew(["a", "d", "b"]) == .tryAgain(after: .seconds(40), code: "SlowDown"))
        #expect(await renewer.renew(["a", "b", "c"]) == .misconfigured(code: "NoSuchBucket"))
    }

    @Test @LoopActor func `goes on with the other keys, whatever becomes of one`() async throws {
        let asked = Mutex<[String]>([])
        let renewer = try Renewer.test(inFlight: 1) { key in
            asked.withLock { $0.append(key) }
            return key == "a" ? .accessDenied(code: "AccessDenied") : .recentlyWritten(expiration: nil)
        }
        #expect(await renewer.renew(["a", "b", "c"]) == .misconfigured(code: "AccessDenied"))
        #expect(asked.withLock(\.self) == ["a", "b", "c"])
    }

    @Test(arguments: [Renewal.Outcome.accessDenied(code: "AccessDenied"), .misconfigured(code: "AccessDenied")])
    @LoopActor func `blames no key for what we may not do`(outcome: Renewal.Outcome) async throws {
        let renewer = try Renewer.test(.report) { $0 == "b" ? outcome : .notFound }
        #expect(await renewer.renew(["a", "b"]) == .misconfigured(code: "AccessDenied"))
    }

    @Test @LoopActor func `has no more on the way than it may, and all of that`() async throws {
        let barrier = Barrier()
        let running = Mutex((now: 0, most: 0))
        let renewer = try Renewer.test(inFlight: 5) { _ in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await barrier.wait()
            running.withLock { $0.now -= 1 }
            return .recentlyWritten(expiration: nil)
        }
        let batches = (0..<2).map { batch in
            LoopActor.spawn { await renewer.renew((0..<20).map { "\(batch)-\($0)" }) }
        }
        await barrier.gathers(5)
        barrier.open()
        for batch in batches {
            guard case .results(let results, _) = await batch.value else { return _ = Issue.record("no results") }
            #expect(results.count == 20)
        }
        #expect(running.withLock { $0.most } == 5)
    }

    @Test @LoopActor func `lets no batch wait for all keys of another`() async throws {
        let asked = Mutex<[String]>([])
        let renewer = try Renewer.test(inFlight: 2) { key in
            asked.withLock { $0.append(key) }
            await Task.yield()
            return .recentlyWritten(expiration: nil)
        }
        let many = ["a", "b", "c"].map { name in
            LoopActor.spawn { await renewer.renew((0..<50).map { "\(name)\($0)" }) }
        }
        try await until { asked.withLock(\.count) >= 30 }
        _ = await renewer.renew(["one"])
        let before = asked.withLock(\.self)
        for batch in many { _ = await batch.value }
        #expect(before.count < 45)
        // The three take turns.
        let counts = ["a", "b", "c"].map { name in before.count { $0.hasPrefix(name) } }
        #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 2)
        #expect(asked.withLock(\.count) == 151)
    }

    // MARK: Places

    @Test(
        arguments: [
            ([:], .notFound, 3),
            (["a": .renewed(expiration: nil)], .renewed(expiration: nil), 1),
            (["new/a": .recentlyWritten(expiration: nil)], .recentlyWritten(expiration: nil), 2),
            (
                ["old/a": .renewed(expiration: nil), "new/a": .recentlyWritten(expiration: nil)],
                .recentlyWritten(expiration: nil), 2
            ),
            (["a": .archived, "old/a": .renewed(expiration: nil)], .renewed(expiration: nil), 3),
            (["new/a": .archived], .archived, 3), (["old/a": .invalidKey], .invalidKey, 3),
            (
                ["a": .archived, "new/a": .unavailable(retryAfter: nil, code: "x")],
                .unavailable(retryAfter: nil, code: "x"), 3
            ),
            (
                ["a": .unavailable(retryAfter: nil, code: "x"), "old/a": .misconfigured(code: "y")],
                .misconfigured(code: "y"), 3
            ),
        ] as [([String: Renewal.Outcome], Renewal.Outcome, Int)])
    @LoopActor func `calls a key gone only when it is at no place, and ends at the first success`(
        outcomes: [String: Renewal.Outcome], outcome: Renewal.Outcome, count: Int
    ) async throws {
        let asked = Mutex<[String]>([])
        let metrics = try Metrics()
        let renew: @Sendable (String) async -> Renewal.Outcome = { key in
            asked.withLock { $0.append(key) }
            return outcomes[key] ?? .notFound
        }
        let renewer = try Renewer.test(.report, others: ["new/", "old/"], metrics: metrics, renew)
        let alone = try Renewer.test(.report) { _ in outcome }
        #expect(await renewer.renew(["a"]) == alone.renew(["a"]))
        #expect(asked.withLock(\.self) == Array(["a", "new/a", "old/a"].prefix(count)))
        // Misses before a hit are no failures: each key counts once, for what became of it.
        let counted = RenewalLabel.allCases.map { metrics.row[metrics.layout.renewals[$0]] }
        #expect(counted.reduce(0, +) == 1)
        if case .renewed = outcome { #expect(counted[0] == 1) }
    }

    @Test @LoopActor func `answers with the key as it came, wherever its object is`() async throws {
        let renewer = try Renewer.test(prefix: "new/", others: [""]) {
            ["new/a", "b"].contains($0) ? .recentlyWritten(expiration: nil) : .notFound
        }
        let keys = ["a", "new/a", "b", "new/b", "c", "new/c", "old/a"]
        #expect(
            await renewer.renew(keys)
                == .results(
                    keys.prefix(4).map { RenewResult(key: $0, renewedUntil: nil) } + [
                        RenewResult(key: "c", failure: .notFound), RenewResult(key: "new/c", failure: .notFound),
                        RenewResult(key: "old/a", failure: .invalidKey),
                    ]))
    }

    @Test(arguments: [("", ["assets/"], 1), ("", ["assets/"], 8), ("assets/", [], 8)] as [(String, [String], Int)])
    @LoopActor func `copies an object once to which two keys of a batch lead`(
        prefix: String, others: [String], inFlight: Int
    ) async throws {
        let asked = Mutex<[String]>([])
        let renewer = try Renewer.test(prefix: prefix, others: others, inFlight: inFlight) { key in
            asked.withLock { $0.append(key) }
            await Task.yield()
            return key == "assets/a" ? .renewed(expiration: nil) : .notFound
        }
        for keys in [["a", "assets/a"], ["assets/a", "a"]] {
            asked.withLock { $0 = [] }
            #expect(
                await renewer.renew(keys)
                    == .results(keys.map { RenewResult(key: $0, renewedUntil: Renewer.testTime + 86_400) }))
            #expect(asked.withLock { $0.count { $0 == "assets/a" } } == 1)
        }
    }
}
