import CloakroomAWS
import CloakroomWire
import Foundation
import CloakroomLoop
import CloakroomScriptedS3
@testable import CloakroomServer
import CloakroomTestSupport
import Testing

/// What is told of the keys of one batch (FAULTS rows 7 and 32), on the S3 that answers as AWS does.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RenewalOfBatchesTests {
    @LoopActor private func renewer(
        _ store: ScriptedStore, _ failure: Settings.Renewal.PartialFailure = .report, others: [String] = []
    ) throws -> Renewer {
        try store.s3.renewer(failure, others: others, testsPermissions: true)
    }

    /// `renewed`, or why not.
    private static func words(_ outcome: Renewer.Outcome) -> [String] {
        switch outcome {
        case .results(let results, _): results.map { $0.success ? "renewed" : $0.error?.rawValue ?? "" }
        case .tryAgain(_, let code): ["try again: \(code)"]
        case .misconfigured(let code): ["misconfigured: \(code)"]
        }
    }

    // MARK: Places

    private static let keys = [
        "root.bin", "assets/root.bin", "new.bin", "assets/new.bin", "old.bin", "old/old.bin", "both.bin",
        "assets/both.bin", "gone.bin", "assets/gone.bin", "elsewhere/new.bin",
    ]

    @LoopActor private static func seed(_ store: ScriptedStore) {
        for key in ["root.bin", "assets/new.bin", "old/old.bin", "both.bin", "assets/both.bin"] {
            store.server.put(key)
        }
    }

    @Test @LoopActor func `finds old and new keys, bare and prefixed, wherever their objects are`() async throws {
        let store = try ScriptedStore()
        defer { store.server.stop() }
        Self.seed(store)
        let outcome = await (try renewer(store, others: ["assets/", "old/"])).renew(Self.keys)
        guard case .results(let results, _) = outcome else { return _ = Issue.record("\(outcome)") }
        #expect(results.map(\.key) == Self.keys)
        let found = [String](repeating: "renewed", count: 8)
        #expect(Self.words(outcome) == found + ["not_found", "not_found", "invalid_key"])
        for key in ["root.bin", "assets/new.bin", "old/old.bin", "both.bin", "assets/both.bin"] {
            #expect(store.server.truth(key).selfCopies == 1, "\(key)")
        }
    }

    @Test(arguments: [S3Fault.internalError, .noSuchBucket, .accessDenied, .pageNotFound])
    @LoopActor func `calls nothing gone while one of the places fails`(fault: S3Fault) async throws {
        let store = try ScriptedStore(attempts: 1)
        defer { store.server.stop() }
        Self.seed(store)
        for key in Self.keys where key.hasPrefix("assets/") { store.server.script(FaultRule(fault, key: key)) }
        store.server.script(FaultRule(fault, key: "assets/old.bin"))
        if fault == .accessDenied { store.server.script(FaultRule(fault, key: "assets/cloakroom-renewal-test")) }
        let renewer = try renewer(store, .retry, others: ["assets/", "old/"])
        for key in ["new.bin", "assets/new.bin", "gone.bin", "assets/gone.bin"] {
            guard case .results(let results, _) = await renewer.renew([key]) else { continue }
            Issue.record("\(results)")
        }
        // Found at another place.
        #expect(
            Self.words(await renewer.renew(["root.bin", "assets/both.bin", "old.bin"])) == [
                "renewed", "renewed", "renewed",
            ])
        #expect(store.server.truth("both.bin").selfCopies == 1 && store.server.truth("assets/both.bin").selfCopies == 0)
    }

    // MARK: One key of many

    private static let others = (0..<9).map { "\($0).bin" }

    @Test(arguments: S3Fault.allCases)
    @LoopActor func `one key that S3 refuses or delays has its own result, and the others theirs`(
        fault: S3Fault
    ) async throws {
        let store = try ScriptedStore(timeout: .milliseconds(fault == .hang ? 1000 : 5000), attempts: 1)
        defer { store.server.stop() }
        for key in Self.others + ["bad.bin"] { store.server.put(key) }
        store.server.script(FaultRule(fault, on: .copyObject, key: "bad.bin"))
        let outcome = await (try renewer(store)).renew(Self.others + ["bad.bin"])
        let renewed = [String](repeating: "renewed", count: Self.others.count)
        switch fault {
        case .leadingWhitespace, .trailingWhitespace: #expect(Self.words(outcome) == renewed + ["renewed"])
        case .accessDenied: #expect(Self.words(outcome) == renewed + ["forbidden"])
        case .invalidObjectState: #expect(Self.words(outcome) == renewed + ["archived"])
        // Of credentials, clock, bucket or key: never of one object.
        case .expiredToken, .requestTimeTooSkewed, .noSuchBucket, .wrongRegion, .permanentRedirect, .temporaryRedirect,
            .signatureDoesNotMatch, .kmsDisabled, .pageNotFound, .emptyNotFound:
            guard case .misconfigured = outcome else { return _ = Issue.record("\(outcome)") }
        default: #expect(Self.words(outcome) == renewed + ["internal_error"])
        }
        for key in Self.others { #expect(store.server.truth(key).selfCopies == 1) }
    }

    /// Each right that a renewal takes, gone from one moment to the next.
    @Test(arguments: ["s3:PutObject", "s3:GetObject", "s3:ListBucket", "s3:GetObjectTagging", "s3:PutObjectTagging"])
    @LoopActor func `an outage of rights is no result of any key, from its first request on`(action: String)
        async throws
    {
        let store = try ScriptedStore()
        defer { store.server.stop() }
        var tagged = ScriptedS3.Seed()
        tagged.tags = ["kind": "chat"]
        for number in 0..<6 { store.server.put("\(number).bin", tagged) }
        let renewer = try renewer(store, .retry)
        #expect(Self.words(await renewer.renew(["0.bin", "1.bin"])) == ["renewed", "renewed"])
        store.server.identities { $0[0].denied = [action] }
        let alone = action == "s3:ListBucket" ? "gone.bin" : "2.bin"
        for keys in [[alone], ["2.bin", "gone.bin"], ["gone.bin", "3.bin", "0.bin"]] {
            #expect(Self.words(await renewer.renew(keys)) == ["misconfigured: AccessDenied"], "\(keys)")
        }
        store.server.identities { $0[0].denied = [] }
        #expect(Self.words(await renewer.renew(["4.bin", "gone.bin"])) == ["renewed", "not_found"])
    }

    // MARK: Keys of KMS

    private static let ownKey = "arn:aws:kms:eu-west-1:000000000000:key/own"
    private static let otherKey = "arn:aws:kms:eu-west-1:111111111111:key/other"

    /// A bucket whose objects are under one key or none, and an object under another.
    @LoopActor private static func storeOfTwoKeys(default key: String?) throws -> ScriptedStore {
        let store = try ScriptedStore(attempts: 1)
        store.server.encryptsByDefault(kmsKey: key)
        var seed = ScriptedS3.Seed()
        for name in ["a.bin", "b.bin"] {
            seed.kmsKey = key
            store.server.put(name, seed)
        }
        seed.kmsKey = otherKey
        store.server.put("other.bin", seed)
        return store
    }

    @Test(arguments: [nil, ownKey])
    @LoopActor func `a denial of an object under a key that no renewal has proven is ours`(key: String?) async throws {
        let store = try Self.storeOfTwoKeys(default: key)
        defer { store.server.stop() }
        store.server.identities { $0[0].deniedKMSKeys = [Self.otherKey] }
        let renewer = try renewer(store)
        for keys in [["other.bin"], ["a.bin", "other.bin", "gone.bin"]] {
            #expect(Self.words(await renewer.renew(keys)) == ["misconfigured: KMS.AccessDenied"], "\(keys)")
        }
        #expect(store.server.truth("a.bin").selfCopies == 1)
        store.server.identities { $0[0].deniedKMSKeys = [] }
        #expect(Self.words(await renewer.renew(["other.bin"])) == ["renewed"])
    }

    @Test(arguments: [nil, ownKey])
    @LoopActor func `a denial of an object under the proven key, or under none, is the key's own`(key: String?)
        async throws
    {
        let store = try Self.storeOfTwoKeys(default: key)
        defer { store.server.stop() }
        store.server.script(FaultRule(.accessDenied, on: .copyObject, key: "a.bin"))
        #expect(Self.words(await (try renewer(store)).renew(["a.bin", "b.bin"])) == ["forbidden", "renewed"])
        // An object that is under none while the proven one is under one.
        store.server.put("c.bin")
        store.server.script(FaultRule(.accessDenied, on: .copyObject, key: "c.bin"))
        #expect(Self.words(await (try renewer(store)).renew(["c.bin"])) == ["forbidden"])
    }

    /// Where HEAD is denied as well, nothing is known of the encryption; one that fails otherwise proves nothing.
    @Test(arguments: [
        (S3Fault.accessDenied, "forbidden"), (.internalError, "misconfigured: AccessDenied"),
    ])
    @LoopActor func `a denial counts by what HEAD says of the encryption`(fault: S3Fault, word: String) async throws {
        let store = try Self.storeOfTwoKeys(default: Self.ownKey)
        defer { store.server.stop() }
        store.server.script(
            FaultRule(.accessDenied, on: .copyObject, key: "other.bin"),
            FaultRule(fault, on: .headObject, key: "other.bin"))
        #expect(Self.words(await (try renewer(store)).renew(["other.bin"])) == [word])
    }

    @Test @LoopActor func `a key that the bucket has only just got is not proven by what was under the former`()
        async throws
    {
        let store = try Self.storeOfTwoKeys(default: Self.ownKey)
        defer { store.server.stop() }
        store.server.script(FaultRule(.accessDenied, on: .copyObject, key: "a.bin"))
        let renewer = try renewer(store)
        #expect(Self.words(await renewer.renew(["a.bin"])) == ["forbidden"])
        // From here on copies are encrypted with the new key, and what is encrypted with it cannot be read.
        store.server.encryptsByDefault(kmsKey: Self.otherKey)
        store.server.identities { $0[0].deniedKMSKeys = [Self.otherKey] }
        for _ in 0..<2 {
            guard case .misconfigured = await renewer.renew(["other.bin"]) else {
                return _ = Issue.record("not ours")
            }
        }
    }

    @Test @LoopActor func `a large object that is slow keeps nobody waiting, and is renewed when asked for again`()
        async throws
    {
        let store = try ScriptedStore(timeout: .milliseconds(300))
        defer { store.server.stop() }
        for key in Self.others { store.server.put(key) }
        var large = ScriptedS3.Seed()
        large.pretendedSize = 1 << 30
        large.tags = ["kind": "film"]
        store.server.put("large.bin", large)
        store.server.script(FaultRule(.hang, on: .copyObject, key: "large.bin"))
        let renewer = try renewer(store, .retry)
        let keys = ["large.bin"] + Self.others
        #expect(Self.words(await renewer.renew(keys)) == ["try again: StillCopying"])
        for key in Self.others { #expect(store.server.truth(key).selfCopies == 1) }
        var words = Self.words(await renewer.renew(keys))
        while words == ["try again: StillCopying"] {
            try await LoopActor.sleep(for: .milliseconds(5))
            words = Self.words(await renewer.renew(keys))
        }
        #expect(words == [String](repeating: "renewed", count: 10))
        let truth = store.server.truth("large.bin")
        #expect(truth.lastModified > ScriptedS3.wallClock() - 3600 && truth.size == 1 << 30)
        #expect(truth.tags == ["kind": "film"])
    }
}
