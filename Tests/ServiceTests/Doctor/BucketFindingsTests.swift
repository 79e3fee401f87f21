import CloakroomAWS
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct BucketFindingsTests {
    private static func lines(
        presence: BucketPresence = .here(region: "eu-central-1"),
        _ change: (inout BucketObservations.Contents) -> Void = { _ in }
    ) throws -> [String] {
        var contents = BucketObservations.Contents(
            missingKey: .success(false), versioning: .success(.never), objectLock: .success(false))
        change(&contents)
        let answers = BucketObservations(presence: .success(presence), contents: contents)
        return BucketFindings(answers, try settings(smallest())).all.lines
    }

    private static let denied = AWSError(.refused, status: 403, code: "AccessDenied")

    @Test func `has nothing to say against a bucket as it is deployed`() throws {
        #expect(
            try Self.lines() == [
                "ok: the bucket photos is there, in eu-central-1", "ok: a missing key gets 404 NoSuchKey",
                "ok: versions are off",
            ])
    }

    @Test(arguments: [
        (BucketPresence.missing, "error: there is no bucket photos"),
        (.elsewhere(region: "us-east-2"), "error: the bucket photos is in us-east-2, not in eu-central-1"),
        (.elsewhere(region: nil), "error: the bucket photos is in another Region, not in eu-central-1"),
        (.accessDenied(region: "eu-central-1"), "error: S3 responds 403 for the bucket photos"),
    ])
    func `tells a bucket that cannot be used, and nothing else then`(presence: BucketPresence, expected: String) throws
    {
        #expect(try Self.lines(presence: presence) == [expected])
    }

    @Test func `tells a missing ListBucket, old versions and a lock`() throws {
        let lines = try Self.lines {
            $0.missingKey = .failure(Self.denied)
            $0.versioning = .success(.enabled)
            $0.objectLock = .success(true)
        }
        #expect(
            lines.dropFirst() == [
                "error: a missing key gets 403, not 404", "warning: the bucket keeps old versions",
                "warning: Object Lock is on",
            ])
    }

    @Test func `does not advise against versions where they bring back tiered photos`() throws {
        func advice(_ vending: String) throws -> [String] {
            let contents = BucketObservations.Contents(
                missingKey: .success(false), versioning: .success(.enabled), objectLock: .success(false))
            let answers = BucketObservations(presence: .success(.here(region: "eu-central-1")), contents: contents)
            return BucketFindings(answers, try settings(smallest(vending: vending))).all.compactMap(\.advice)
        }
        #expect(try advice("").contains { $0.hasSuffix("use a bucket without versions") })
        let tiered = try advice("prefixes: ['photos', 'thumbnails', 'catalogs']")
        #expect(tiered.count == 1 && !tiered.contains { $0.contains("without versions") })
    }

    @Test func `says what it may not see`() throws {
        let lines = try Self.lines {
            $0.versioning = .failure(Self.denied)
            $0.objectLock = .failure(AWSError(.refused, status: 501, code: "NotImplemented"))
        }
        #expect(lines.last == "skipped: S3 does not tell whether it keeps versions: AccessDenied (403)")
    }
}

struct RenewalFindingsTests {
    private static let written = Date(timeIntervalSince1970: 1_800_000_000)

    private static func probe(after seconds: Double = 0, end: Date? = nil, tags: [String: String]? = ["a": "b"])
        -> ProbeObject
    {
        ProbeObject(
            lastModified: written.addingTimeInterval(seconds), contentType: "text/x", cacheControl: "max-age=60",
            note: "probe", tags: tags, expiration: end)
    }

    private static func trial(
        _ mode: RenewalSettings.Mode, _ outcome: Renewal.Outcome = .renewed(expiration: nil), after: ProbeObject? = nil
    ) -> RenewalTrial {
        RenewalTrial(mode: mode, outcome: outcome, before: probe(), after: after)
    }

    private static func lines(
        _ trials: [RenewalTrial], mode: String = "auto", days: String = "30"
    ) throws -> [String] {
        let renewal = try settings(smallest("renewal: {mode: \"\(mode)\", retentionDays: \(days)}")).renewal
        return RenewalFindings(trials, renewal).all.lines
    }

    private static let refused = Renewal.Outcome.misconfigured(code: "InvalidRequest")
    private static let silent =
        "skipped: the store does not say when an object ends (x-amz-expiration); workers say 30 days"

    @Test func `AWS takes both, and says when an object ends`() throws {
        // Written on the 15th of January at 08:00; 30 days, and then midnight.
        let end = Date(timeIntervalSince1970: 1_800_000_000 + 30 * 86_400 + 16 * 3600)
        let after = Self.probe(after: 2, end: end)
        #expect(
            try Self.lines([Self.trial(.copy, after: after), Self.trial(.replace, after: after)]) == [
                "ok: objects can be renewed by copy and by replace; date, type, metadata and tags are as they should be",
                "ok: the store says itself that an object ends after 30 days",
            ])
        let early = Self.probe(after: 2, end: end.addingTimeInterval(-23 * 86_400))
        #expect(
            try Self.lines([Self.trial(.copy, after: early)]).last
                == "error: the store ends an object after 7 days, renewal.retentionDays is 30")
    }

    @Test func `a store that ends objects is wrong where nothing is to expire`() throws {
        let end = Self.written.addingTimeInterval(30 * 86_400 + 3600)
        #expect(
            try Self.lines([Self.trial(.copy, after: Self.probe(after: 2, end: end))], days: "null").last
                == "error: the store ends an object after 30 days, but renewal.retentionDays is null: nothing is to expire"
        )
        #expect(
            try Self.lines([Self.trial(.copy, after: Self.probe(after: 2))], days: "null").last
                == "ok: the store names no end of an object, as renewal.retentionDays: null wants it")
    }

    @Test func `SeaweedFS and MinIO take the second way alone`() throws {
        let trials = [Self.trial(.copy, Self.refused), Self.trial(.replace, after: Self.probe(after: 2))]
        #expect(
            try Self.lines(trials) == [
                "ok: objects can be renewed by replace, by copy not; date, type, metadata and tags are as they should be",
                Self.silent,
            ])
        #expect(
            try Self.lines(trials, mode: "copy") == ["error: renewal.mode is copy, which this store refuses"])
    }

    @Test func `Ceph drops tags with the second way`() throws {
        let trials = [Self.trial(.copy, Self.refused), Self.trial(.replace, after: Self.probe(after: 2, tags: [:]))]
        #expect(try Self.lines(trials) == ["error: renewing by replace takes from an object its tags"])
    }

    @Test func `a date that does not move is no renewal`() throws {
        #expect(
            try Self.lines([Self.trial(.copy, after: Self.probe())]) == [
                "error: renewing by copy takes from an object its date, which did not move"
            ])
    }

    @Test func `no way at all`() throws {
        let trials = [
            Self.trial(.copy, .accessDenied(code: "AccessDenied")),
            Self.trial(.replace, .accessDenied(code: "AccessDenied")),
        ]
        #expect(
            try Self.lines(trials) == ["error: no way of renewing works: copy: AccessDenied, replace: AccessDenied"])
    }
}
