import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomOperations
import CloakroomServer
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomCommand

@Suite(.onLoop)
struct LifecycleCountTests {
    /// A bucket without rules, whose listings have two pages each.
    private final class Bucket: Transport {
        private let versioning: String

        init(versioning: String) { self.versioning = versioning }

        func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
            let isSecond = request.target.contains("-token=") || request.target.contains("key-marker=")
            let text =
                if request.target.contains("lifecycle") {
                    "<LifecycleConfiguration/>"
                } else if request.target.contains("versioning") {
                    "<VersioningConfiguration>\(versioning)</VersioningConfiguration>"
                } else if request.target.contains("versions=") {
                    """
                    <ListVersionsResult><EncodingType>url</EncodingType>\
                    \(Self.more(isSecond, "<NextKeyMarker>a</NextKeyMarker><NextVersionIdMarker>v</NextVersionIdMarker>"))\
                    \(Self.entry("Version", isSecond ? "b" : "a", "<IsLatest>\(!isSecond)</IsLatest>"))\
                    </ListVersionsResult>
                    """
                } else if request.target.contains("prefix=none") {
                    "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
                } else {
                    """
                    <ListBucketResult><EncodingType>url</EncodingType>\
                    \(Self.more(isSecond, "<NextContinuationToken>x</NextContinuationToken>"))\
                    \(Self.entry("Contents", isSecond ? "b" : "a", ""))</ListBucketResult>
                    """
                }
            return UpstreamResponse(status: 200, body: Array(text.utf8))
        }

        private static func more(_ isSecond: Bool, _ next: String) -> String {
            "<IsTruncated>\(!isSecond)</IsTruncated>" + (isSecond ? "" : next)
        }

        private static func entry(_ name: String, _ key: String, _ more: String) -> String {
            "<\(name)><Key>assets/\(key)</Key><VersionId>v</VersionId>\(more)"
                + "<LastModified>2020-01-01T00:00:00.000Z</LastModified><Size>3</Size></\(name)>"
        }
    }

    private static let terms = LifecycleTerms(prefixes: ["assets/"], retentionDays: 30)

    @LoopActor private func bucket(_ versioning: String) throws -> S3Client {
        S3Client(
            bucket: "photos", endpoint: try .s3(region: "eu-west-1", bucket: "photos"),
            transport: Bucket(versioning: versioning),
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            isolation: LoopActor.shared)
    }

    @LoopActor private func count(_ versioning: String) async throws -> ExpirationCount {
        let s3 = try bucket(versioning)
        let found = try await BucketLifecycle(s3)
        let plan = LifecyclePlan(found.configuration, found.versioning, Self.terms, replacesAll: false)
        return try await LifecycleCount(s3: s3, interval: .zero).count(plan, found)
    }

    @Test @LoopActor func `counts all pages, and older versions where the bucket keeps them`() async throws {
        let never = try await count("")
        #expect(never.objects.atOnce.count == 2 && never.versions.atOnce.count == 0)
        for state in ["Enabled", "Suspended"] {
            let kept = try await count("<Status>\(state)</Status>")
            #expect(kept.objects.atOnce.count == 1 && kept.versions.atOnce.count == 1)
        }
    }

    @Test @LoopActor func `finds the folders that are not in the bucket`() async throws {
        let count = LifecycleCount(s3: try bucket(""), interval: .zero)
        #expect(try await count.absent(["assets/", "none/", "none/at/all/"]) == ["none/", "none/at/all/"])
        #expect(try await count.absent([]) == [])
    }

    /// Bytes of an older version are as gone as those of an object.
    @Test @LoopActor func `refuses a change for older versions alone`() {
        let rules = LifecycleConfiguration(rules: Self.terms.rules(.enabled))
        for (former, target, flag) in [
            (LifecycleConfiguration(), rules, "delete-existing"), (rules, LifecycleConfiguration(), "stop-expiring"),
        ] {
            var count = ExpirationCount(from: former, to: target, now: Date())
            count.version(
                "assets/a", size: 3, written: Date(timeIntervalSince1970: 1_600_000_000), isLatest: false,
                isDeleteMarker: false)
            #expect(LifecycleCount.refusal(count, [])?.contains("--\(flag)") == true)
            #expect(LifecycleCount.refusal(count, [flag]) == nil)
        }
    }

    /// Nobody knows whether it would go.
    @Test @LoopActor func `names what it cannot count, and refuses`() throws {
        var count = ExpirationCount(
            from: LifecycleConfiguration(), to: LifecycleConfiguration(rules: Self.terms.rules(.never)), now: Date())
        count.object("assets/a", size: nil, written: Date(timeIntervalSince1970: 1_600_000_000))
        let settings = try settings()
        #expect(
            LifecycleCount.lines(count, settings, file: "settings.json5") == [
                "1 may expire or not, and are not counted: the listing has no readable size or time of assets/a"
            ])
        #expect(LifecycleCount.refusal(count, [])?.contains("--delete-existing") == true)
        #expect(LifecycleCount.refusal(count, ["delete-existing"]) == nil)
    }

    private func settings() throws -> Settings {
        let text = """
            {
              region: "eu-central-1", bucket: "photos", uploads: {keyPrefix: "assets/"},
              tokens: {issuers: [{issuer: "https://auth.example", audiences: ["cloakroom"], secret: {env: "SIGNING"}}]},
              vending: {roleARN: "arn:aws:iam::000000000000:role/session"},
            }
            """
        return try Settings.load(
            file: "/settings.json5", environment: ["SIGNING": "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"]
        ) { $0 == "/settings.json5" ? Array(text.utf8) : nil }
    }

    @Test @LoopActor func `refuses a rule for names in the bucket itself that matches other objects`() throws {
        let settings = try settings()
        let terms = LifecycleTerms(prefixes: ["assets/", "b"], retentionDays: 30)
        let now = Date()
        var count = ExpirationCount(
            from: .init(), to: LifecycleConfiguration(rules: terms.rules(.never)), now: now,
            others: OtherObjects(settings))
        for (key, age) in [("b0123456789abcdef0123456789abcde.bin", 900_000.0), ("backups/db-1.sql", 86_400)] {
            count.object(key, size: 7, written: now.addingTimeInterval(-age))
        }
        let lines = LifecycleCount.lines(count, settings, file: "settings.json5")
        #expect(lines.contains { $0.contains("  1 of these objects are no assets") && $0.contains("backups/db-1.sql") })
        #expect(LifecycleCount.refusal(count, [])?.contains("--expire-other-objects") == true)
        #expect(LifecycleCount.refusal(count, ["delete-existing", "stop-expiring"]) != nil)
        #expect(LifecycleCount.refusal(count, ["expire-other-objects"]) == nil)
    }
}
