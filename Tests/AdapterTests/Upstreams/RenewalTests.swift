import CloakroomAWS
import CloakroomLoop
import CloakroomScriptedS3
import CloakroomTestSupport
import Testing

/// What a renewal does to an object, seen by the store: the truth before and after, at a store that answers as AWS does
/// and at one that refuses to copy an object onto itself as it is.
@Suite(.onLoop, .timeLimit(.minutes(2)))
struct RenewalTests {
    @LoopActor private static func renew(
        _ store: ScriptedS3, _ settings: RenewalSettings, _ key: String = "a.bin"
    ) async throws -> Renewal.Outcome {
        try await renew(try store.client(renewal: settings), key)
    }

    /// Asks until what goes on beside the request has ended.
    @LoopActor private static func renew(_ client: S3Client, _ key: String) async throws -> Renewal.Outcome {
        while true {
            let outcome = await client.renew(key: key, deadline: .now + .seconds(30)).outcome
            guard case .unavailable(_, "StillCopying") = outcome else { return outcome }
            try await LoopActor.sleep(for: .milliseconds(5))
        }
    }

    private static func seed() -> ScriptedS3.Seed {
        var seed = ScriptedS3.Seed()
        seed.contentType = "image/jpeg"
        seed.system = [
            "cache-control": "max-age=60", "content-disposition": "attachment; filename=\"a b.jpg\"",
            "content-encoding": "gzip", "content-language": "de", "expires": "Wed, 21 Oct 2026 07:28:00 GMT",
        ]
        seed.metadata = ["owner": "u_1", "note": "a  b"]
        seed.tags = ["kind": "chat", "a b": "1+2"]
        seed.storageClass = "STANDARD_IA"
        seed.kmsKey = "arn:aws:kms:eu-west-1:000000000000:key/k"
        seed.websiteRedirect = "/elsewhere"
        return seed
    }

    private static func isRenewed(_ outcome: Renewal.Outcome) -> Bool {
        if case .renewed = outcome { true } else { false }
    }

    @Test(arguments: [RenewalSettings.Mode.auto, .copy, .replace], [(false, nil), (true, nil), (false, 6 << 30)])
    @LoopActor func `changes nothing but the date`(
        mode: RenewalSettings.Mode, what: (refusesSelfCopy: Bool, pretendedSize: Int?)
    ) async throws {
        let store = try ScriptedS3()
        defer { store.stop() }
        store.refusesSelfCopy(what.refusesSelfCopy)
        var seed = Self.seed()
        seed.pretendedSize = what.pretendedSize
        store.put("a.bin", seed)
        let before = store.truth("a.bin")
        let outcome = try await Self.renew(store, .init(mode: mode, storageClass: .preserved))
        #expect(Self.isRenewed(outcome), "\(outcome)")
        let after = store.truth("a.bin")
        #expect(after.lastModified > before.lastModified + 86_400)
        #expect(after.fields == before.fields)
        #expect(after.tags == before.tags)
        #expect(after.storageClass == before.storageClass)
        #expect(after.size == before.size)
        // A repeat finds it fresh.
        #expect(
            try await Self.renew(store, .init(mode: mode, storageClass: .preserved))
                == .recentlyWritten(expiration: nil))
    }

    @Test @LoopActor func `with one request a key, class, encryption, redirect and ACL are what the settings say`()
        async throws
    {
        let store = try ScriptedS3()
        defer { store.stop() }
        store.put("a.bin", Self.seed())
        store.put("b.bin", Self.seed())
        #expect(Self.isRenewed(try await Self.renew(store, .init(), "a.bin")))
        let plain = store.truth("a.bin")
        #expect(plain.storageClass == "STANDARD" && plain.tags == store.truth("b.bin").tags)
        #expect(plain.fields["x-amz-server-side-encryption-aws-kms-key-id"] == nil)
        #expect(plain.fields["x-amz-website-redirect-location"] == nil)
        #expect(plain.fields["x-amz-meta-owner"] == "u_1" && plain.fields["cache-control"] == "max-age=60")
        let settings = RenewalSettings(
            storageClass: .named("INTELLIGENT_TIERING"), encryption: .init(algorithm: "aws:kms", keyID: "arn:other"),
            acl: "bucket-owner-full-control")
        #expect(Self.isRenewed(try await Self.renew(store, settings, "b.bin")))
        let told = store.truth("b.bin")
        #expect(told.storageClass == "INTELLIGENT_TIERING")
        #expect(told.fields["x-amz-server-side-encryption-aws-kms-key-id"] == "arn:other")
        #expect(told.fields["x-amz-acl"] == "bucket-owner-full-control")
        #expect(store.requests.map(\.method) == ["PUT", "PUT"])
    }

    @Test @LoopActor func `leaves alone what a renewal would harm, and never calls it renewed or gone`() async throws {
        let store = try ScriptedS3()
        defer { store.stop() }
        var locked = Self.seed()
        locked.lockMode = "GOVERNANCE"
        store.put("locked.bin", locked)
        var cold = Self.seed()
        cold.storageClass = "GLACIER"
        store.put("cold.bin", cold)
        var theirs = Self.seed()
        theirs.kmsKey = nil
        theirs.customerKeyMD5 = "hRasmdxgYDKV3nvbahU1MA=="
        store.put("theirs.bin", theirs)
        let expected: [(String, Renewal.Outcome)] = [
            ("locked.bin", .unrenewableObject(code: "ObjectLocked")), ("cold.bin", .archived), ("gone.bin", .notFound),
        ]
        for settings in [RenewalSettings(storageClass: .preserved), .init(mode: .replace), .init(mode: .copy)] {
            // One request alone does not see a lock.
            for (key, outcome) in expected where key != "locked.bin" || settings.mode != .copy {
                #expect(try await Self.renew(store, settings, key) == outcome, "\(key) \(settings)")
                #expect(store.truth(key).selfCopies == 0)
            }
            guard case .unrenewableObject = try await Self.renew(store, settings, "theirs.bin") else {
                Issue.record("an object with its owner's key")
                continue
            }
            #expect(store.truth("theirs.bin").selfCopies == 0)
        }
    }

    @Test @LoopActor func `finds its way at a store that changes its mind, and asks no more than it must`() async throws
    {
        let store = try ScriptedS3()
        defer { store.stop() }
        store.refusesSelfCopy(true)
        var seed = Self.seed()
        // One under KMS is taken even there.
        seed.kmsKey = nil
        for key in ["a.bin", "b.bin", "c.bin"] { store.put(key, seed) }
        let client = try store.client()
        for key in ["a.bin", "b.bin"] {
            #expect(Self.isRenewed(await client.renew(key: key, deadline: .now + .seconds(30)).outcome))
        }
        let tagged = ["GET", "PUT", "GET"]
        #expect(store.requests.map(\.method) == ["PUT", "HEAD"] + tagged + ["HEAD", "PUT"])
        store.refusesSelfCopy(false)
        #expect(Self.isRenewed(await client.renew(key: "c.bin", deadline: .now + .seconds(30)).outcome))
    }

    @Test(arguments: [S3Fault.requestTimeTooSkewed, .okWithError, .slowDown, .leadingWhitespace, .halfAnswer, .reset])
    @LoopActor func `gets over one fault, whatever request meets it`(fault: S3Fault) async throws {
        let store = try ScriptedS3()
        defer { store.stop() }
        for (number, operation) in [S3Operation.headObject, .copyObject].enumerated() {
            let key = "\(number).bin"
            store.put(key, Self.seed())
            store.clearFaults()
            // A HEAD has no body to be spoilt.
            guard operation != .headObject || [.slowDown, .reset].contains(fault) else { continue }
            store.script(FaultRule(fault, on: operation, times: 1))
            let outcome = try await Self.renew(store, .init(storageClass: .preserved), key)
            if fault == .requestTimeTooSkewed {
                // The clocks agree, so there is nothing to correct.
                #expect(outcome == .misconfigured(code: "RequestTimeTooSkewed"))
            } else {
                #expect(Self.isRenewed(outcome), "\(operation): \(outcome)")
            }
        }
    }

    @Test(arguments: ["s3:GetObjectTagging", "s3:PutObjectTagging"])
    @LoopActor func `copies no tagged object whose tags it may not copy`(action: String) async throws {
        let store = try ScriptedS3()
        defer { store.stop() }
        store.put("a.bin", Self.seed())
        store.identities { $0[0].denied = [action] }
        for settings in [RenewalSettings(), .init(storageClass: .preserved), .init(mode: .replace)] {
            #expect(try await Self.renew(store, settings) == .accessDenied(code: "AccessDenied"))
        }
        #expect(store.truth("a.bin").selfCopies == 0)
    }

    @Test @LoopActor func `without leave to list, nothing is gone`() async throws {
        let store = try ScriptedS3()
        defer { store.stop() }
        store.identities { $0[0].denied = ["s3:ListBucket"] }
        for settings in [RenewalSettings(), .init(storageClass: .preserved), .init(mode: .replace)] {
            #expect(try await Self.renew(store, settings, "gone.bin") == .accessDenied(code: "AccessDenied"))
        }
    }

    /// Whatever goes wrong in between: a success means that the object lives on, `notFound` that there is none.
    @Test(arguments: [
        RenewalSettings(), .init(storageClass: .preserved), .init(mode: .replace), .init(mode: .copy),
    ])
    @LoopActor func `says nothing false under a random mix of faults`(settings: RenewalSettings) async throws {
        let store = try ScriptedS3()
        defer { store.stop() }
        let keys = (0..<120).map { "\($0).bin" }
        for (number, key) in keys.enumerated() where number % 4 > 0 {
            var seed = Self.seed()
            if number % 24 == 1 { seed.pretendedSize = 6 << 30 }
            if number % 8 == 2 { seed.tags = [:] }
            store.put(key, seed)
        }
        let slow: Set<S3Fault> = [.hang, .okHuge]
        store.mix(FaultMix(share: 0.2, seed: 11, faults: S3Fault.allCases.filter { !slow.contains($0) }))
        let client = try store.client(renewal: settings)
        var counts: [String: Int] = [:]
        for key in keys {
            let outcome = try await Self.renew(client, key)
            let truth = store.truth(key)
            switch outcome {
            case .renewed, .recentlyWritten:
                #expect(truth.selfCopies > 0 || truth.size > 5 << 30, "\(key)")
                #expect(truth.lastModified > ScriptedS3.wallClock() - 3600, "\(key)")
                counts["success", default: 0] += 1
            case .notFound:
                #expect(!truth.exists, "\(key)")
                counts["gone", default: 0] += 1
            case .archived, .invalidKey, .unrenewableObject, .accessDenied, .refused, .misconfigured, .unavailable:
                break
            }
        }
        #expect(counts["success", default: 0] > 40 && counts["gone", default: 0] > 12)
    }
}
