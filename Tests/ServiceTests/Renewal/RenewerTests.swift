import CloakroomAWS
import CloakroomKitTestSupport
import CloakroomWire
import Foundation
import CloakroomLoop
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct RenewerTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    @LoopActor private func renewer(
        _ failure: Settings.Renewal.PartialFailure = .retry, prefix: String = "", others: [String] = [],
        inFlight: Int = 8, metrics: Metrics? = nil, permissions: RenewalPermissions? = nil,
        _ renew: @escaping @Sendable (String) async -> Renewal.Outcome
    ) throws -> Renewer {
        let settings = Settings.Renewal(
            mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: prefix, otherPrefixes: others,
            maximumInFlight: inFlight,
            partialFailure: failure, retention: .seconds(86_400))
        return Renewer(
            settings: settings, requestDeadline: .seconds(15), metrics: try metrics ?? Metrics(),
            permissions: permissions,
            now: { Self.now }
        ) { key, _ in Renewal(outcome: await renew(key), counts: AttemptCounts(attempts: 1)) }
    }

    @Test @LoopActor func `copies a key once, and answers for each time it was sent, in order`() async throws {
        let asked = Mutex<[String]>([])
        let renewer = try renewer(prefix: "assets/") { key in
            asked.withLock { $0.append(key) }
            return key == "assets/b" ? .notFound : .renewed(expiration: Self.now + 5)
        }
        let (a, b) = (RenewResult(key: "a", renewedUntil: Self.now + 5), RenewResult(key: "b", failure: .notFound))
        #expect(await renewer.renew(["a", "b", "a", "a", "b"]) == .results([a, b, a, a, b]))
        #expect(asked.withLock { $0.sorted() } == ["assets/a", "assets/b"])
    }

    @Test(arguments: [
        "", ".", "..", ".a", "-a", "_a", "a/b", "/a", "a/../b", "a b", "a+b", "a%2Fb", "a?versionId=1", "a#b", "a\n",
        "a\r\nX: y",
        "a\u{0}", "ä", "a\u{301}", "а", "*", "${user}", String(repeating: "a", count: 256),
    ])
    @LoopActor func `sends no key that is more than a name`(key: String) async throws {
        let metrics = try Metrics()
        let renewer = try renewer(metrics: metrics) { key in
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
        let renewer = try renewer { _ in .recentlyWritten(expiration: nil) }
        #expect(await renewer.renew([key]) == .results([RenewResult(key: key, renewedUntil: nil)]))
    }

    @Test(
        arguments: [
            (.renewed(expiration: nil), RenewResult(key: "a", renewedUntil: now + 86_400)),
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
        #expect(await (try renewer { _ in outcome }).renew(["a"]) == .results([result]))
    }

    @Test(arguments: [(nil, 5), (Duration.seconds(2), 5), (.seconds(30), 30)] as [(Duration?, Int)])
    @LoopActor func `answers for nobody when one key may pass later, unless it is told to`(
        retryAfter: Duration?, seconds: Int
    ) async throws {
        let renew: @Sendable (String) async -> Renewal.Outcome = {
            $0 == "slow" ? .unavailable(retryAfter: retryAfter, code: "SlowDown") : .recentlyWritten(expiration: nil)
        }
        #expect(
            await (try renewer(.retry, renew)).renew(["a", "slow"])
                == .tryAgain(after: .seconds(seconds), code: "SlowDown"))
        #expect(
            await (try renewer(.report, renew)).renew(["a", "slow"])
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
        let renewer = try renewer { outcomes[$0] ?? .recentlyWritten(expiration: nil) }
        #expect(await renewer.renew(["a", "d", "b"]) == .tryAgain(after: .seconds(40), code: "SlowDown"))
        #expect(await renewer.renew(["a", "b", "c"]) == .misconfigured(code: "NoSuchBucket"))
    }

    @Test @LoopActor func `goes on with the other keys, whatever becomes of one`() async throws {
        let asked = Mutex<[String]>([])
        let renewer = try renewer(inFlight: 1) { key in
            asked.withLock { $0.append(key) }
            return key == "a" ? .accessDenied(code: "AccessDenied") : .recentlyWritten(expiration: nil)
        }
        #expect(await renewer.renew(["a", "b", "c"]) == .misconfigured(code: "AccessDenied"))
        #expect(asked.withLock(\.self) == ["a", "b", "c"])
    }

    @Test(arguments: [Renewal.Outcome.accessDenied(code: "AccessDenied"), .misconfigured(code: "AccessDenied")])
    @LoopActor func `blames no key for what we may not do`(outcome: Renewal.Outcome) async throws {
        let renewer = try renewer(.report) { $0 == "b" ? outcome : .notFound }
        #expect(await renewer.renew(["a", "b"]) == .misconfigured(code: "AccessDenied"))
    }

    @Test @LoopActor func `has no more on the way than it may, and all of that`() async throws {
        let barrier = Barrier()
        let running = Mutex((now: 0, most: 0))
        let renewer = try renewer(inFlight: 5) { _ in
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
        let renewer = try renewer(inFlight: 2) { key in
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
        let renewer = try renewer(.report, others: ["new/", "old/"], metrics: metrics, renew)
        let alone = try self.renewer(.report) { _ in outcome }
        #expect(await renewer.renew(["a"]) == alone.renew(["a"]))
        #expect(asked.withLock(\.self) == Array(["a", "new/a", "old/a"].prefix(count)))
        // Misses before a hit are no failures: each key counts once, for what became of it.
        let counted = RenewalLabel.allCases.map { metrics.row[metrics.layout.renewals[$0]] }
        #expect(counted.reduce(0, +) == 1)
        if case .renewed = outcome { #expect(counted[0] == 1) }
    }

    @Test @LoopActor func `answers with the key as it came, wherever its object is`() async throws {
        let renewer = try renewer(prefix: "new/", others: [""]) {
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
        let renewer = try renewer(prefix: prefix, others: others, inFlight: inFlight) { key in
            asked.withLock { $0.append(key) }
            await Task.yield()
            return key == "assets/a" ? .renewed(expiration: nil) : .notFound
        }
        for keys in [["a", "assets/a"], ["assets/a", "a"]] {
            asked.withLock { $0 = [] }
            #expect(
                await renewer.renew(keys)
                    == .results(keys.map { RenewResult(key: $0, renewedUntil: Self.now + 86_400) }))
            #expect(asked.withLock { $0.count { $0 == "assets/a" } } == 1)
        }
    }

    // MARK: Refusals

    private static let denied = Renewal.Outcome.accessDenied(code: "AccessDenied")

    @Test(
        arguments: [
            (denied, .forbidden), (.refused(code: "InvalidArgument"), .forbidden),
            (.refused(code: "UnsendableRequest"), .invalidKey),
        ] as [(Renewal.Outcome, RenewalErrorCode)])
    @LoopActor func `tells a refusal of one key alone once another object has been renewed after it`(
        outcome: Renewal.Outcome, failure: RenewalErrorCode
    ) async throws {
        let metrics = try Metrics()
        let tested = Mutex<[String]>([])
        let permissions = RenewalPermissions { prefix, _ in
            tested.withLock { $0.append(prefix) }
            return .renewed(kmsKey: nil)
        }
        let renewer = try renewer(others: ["new/"], metrics: metrics, permissions: permissions) {
            $0 == "new/a" ? outcome : $0 == "b" ? .renewed(expiration: nil) : .notFound
        }
        let b = RenewResult(key: "b", renewedUntil: Self.now + 86_400)
        #expect(await renewer.renew(["new/a", "b"]) == .results([RenewResult(key: "new/a", failure: failure), b]))
        #expect(await renewer.renew(["a"]) == .results([RenewResult(key: "a", failure: failure)]))
        #expect(tested.withLock { Set($0) } == ["new/"])
        #expect(!permissions.isAwaited)
        // No alarm: nothing of ours is wrong.
        let renewals = metrics.layout.renewals
        #expect(metrics.row[renewals[.accessDenied]] == 0 && metrics.row[renewals[.misconfigured]] == 0)
    }

    /// Clients take each key of a 200 that is not `not_found` for renewed.
    @Test(arguments: [denied, .refused(code: "InvalidArgument")])
    @LoopActor func `tells nothing of single keys while no object can be renewed, from the first request on`(
        outcome: Renewal.Outcome
    ) async throws {
        let isDenied = Mutex(false)
        let permissions = RenewalPermissions { _, _ in
            isDenied.withLock(\.self)
                ? .failed(AWSError(.refused, status: 403, code: "AccessDenied")) : .renewed(kmsKey: nil)
        }
        let renewer = try renewer(.report, permissions: permissions) { _ in
            isDenied.withLock(\.self) ? outcome : .renewed(expiration: nil)
        }
        // What was renewed before proves nothing.
        guard case .results = await renewer.renew(["a", "b"]) else { return _ = Issue.record("not renewed") }
        isDenied.withLock { $0 = true }
        for keys in [["a"], ["a", "b", "c"]] {
            guard case .misconfigured = await renewer.renew(keys) else { return _ = Issue.record("\(keys)") }
        }
        isDenied.withLock { $0 = false }
        guard case .results = await renewer.renew(["a"]) else { return _ = Issue.record("not renewed again") }
    }

    @Test @LoopActor func `looks up the KMS keys of denied objects side by side, as many as may be copied`()
        async throws
    {
        let running = Mutex<[Int]>([0])
        let permissions = RenewalPermissions(
            kmsKey: { _, _ throws(AWSError) in
                running.withLock { $0.append(($0.last ?? 0) + 1) }
                for _ in 0..<100 { await Task.yield() }
                running.withLock { $0.append(($0.last ?? 0) - 1) }
                return nil
            }, test: { _, _ in .renewed(kmsKey: nil) })
        let renewer = try renewer(inFlight: 4, permissions: permissions) { _ in Self.denied }
        let keys = (1...10).map { "k\($0)" }
        let forbidden = keys.map { RenewResult(key: $0, failure: .forbidden) }
        #expect(await renewer.renew(keys) == .results(forbidden))
        #expect(running.withLock { $0.max() } == 4)
        #expect(running.withLock { $0.last } == 0 && !permissions.isAwaited)
    }

    /// An object that is refused at two places is told of only when both refusals are its own.
    @Test @LoopActor func `tells nothing of a key while one of the places that refuse it cannot be renewed at`()
        async throws
    {
        let permissions = RenewalPermissions { prefix, _ in
            prefix == "new/"
                ? .failed(AWSError(.refused, status: 403, code: "AccessDenied")) : .renewed(kmsKey: nil)
        }
        let renewer = try renewer(others: ["new/"], permissions: permissions) { _ in Self.denied }
        #expect(await renewer.renew(["a"]) == .misconfigured(code: "AccessDenied"))
        #expect(await renewer.renew(["new/a"]) == .misconfigured(code: "AccessDenied"))
    }

    @Test @LoopActor func `takes no renewal as proof that sent nothing, or was sent too early`()
        async throws
    {
        let refused = Renewal.Outcome.refused(code: "InvalidArgument")
        let settings = Settings.Renewal(
            mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: "", otherPrefixes: ["new/"],
            maximumInFlight: 1, partialFailure: .retry, retention: .seconds(86_400))
        let silent = Renewer(
            settings: settings, requestDeadline: .seconds(15), metrics: try Metrics(), now: { Self.now }
        ) { key, _ in
            key == "new/a"
                ? Renewal(outcome: refused, counts: AttemptCounts(attempts: 1))
                : Renewal(outcome: key == "a" ? .notFound : .renewed(expiration: nil), counts: AttemptCounts())
        }
        #expect(await silent.renew(["new/a", "new/b"]) == .misconfigured(code: "InvalidArgument"))
        // The other key's renewal is under way at its second place when the refusal comes.
        let isUnderWay = Mutex(false)
        let isRefused = Mutex(false)
        let early = try renewer(others: ["new/"], permissions: RenewalPermissions(test: nil)) { key in
            switch key {
            case "new/a":
                try? await until { isUnderWay.withLock(\.self) }
                return refused
            case "new/b", "new/c":
                isUnderWay.withLock { $0 = true }
                try? await until { isRefused.withLock(\.self) }
                return .renewed(expiration: nil)
            case "a":
                isRefused.withLock { $0 = true }
                return .notFound
            default: return .notFound
            }
        }
        #expect(await early.renew(["new/a", "b"]) == .misconfigured(code: "InvalidArgument"))
        isUnderWay.withLock { $0 = false }
        isRefused.withLock { $0 = false }
        #expect(await early.renew(["new/a", "new/c"]) == .misconfigured(code: "InvalidArgument"))
    }

    /// S3 may have found it too young before it looked at our permissions.
    @Test @LoopActor func `takes no object for proof that S3 left as it was`() async throws {
        let permissions = RenewalPermissions { _, _ in
            .failed(AWSError(.refused, status: 403, code: "AccessDenied"))
        }
        let renewer = try renewer(inFlight: 1, permissions: permissions) {
            $0 == "a" ? .refused(code: "InvalidArgument") : .recentlyWritten(expiration: nil)
        }
        #expect(await renewer.renew(["a", "b"]) == .misconfigured(code: "InvalidArgument"))
    }

    @Test @LoopActor func `takes a refusal that is not denial for the key's own on another's renewal`() async throws {
        let renewer = try renewer(inFlight: 1, permissions: RenewalPermissions(test: nil)) {
            switch $0 {
            case "a": .refused(code: "InvalidArgument")
            case "denied": Self.denied
            default: .renewed(expiration: nil)
            }
        }
        let b = RenewResult(key: "b", renewedUntil: Self.now + 86_400)
        #expect(await renewer.renew(["a", "b"]) == .results([RenewResult(key: "a", failure: .forbidden), b]))
        // Sent before.
        #expect(await renewer.renew(["b", "a"]) == .misconfigured(code: "InvalidArgument"))
        #expect(await renewer.renew(["denied", "b"]) == .misconfigured(code: "AccessDenied"))
    }
}
