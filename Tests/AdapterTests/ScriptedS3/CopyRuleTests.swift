import CloakroomAWS
import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomScriptedS3
import CloakroomTestSupport
import Testing

/// The scripted S3 itself: that it keeps to what was recorded on AWS.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct CopyRuleTests {
    @Test(
        arguments: [
            ([:], "400 InvalidRequest"),
            (["x-amz-metadata-directive": "COPY"], "400 InvalidRequest"),
            (["x-amz-meta-a": "2"], "400 InvalidRequest"),
            (["x-amz-acl": "public-read"], "400 InvalidRequest"),
            (["x-amz-tagging": "a=b"], "400 InvalidRequest"),
            (["x-amz-checksum-algorithm": "SHA256"], "400 InvalidRequest"),
            (["x-amz-storage-class": "STANDARD"], "200"),
            (["x-amz-storage-class": "BRASS"], "400 InvalidStorageClass"),
            (["x-amz-website-redirect-location": "/b"], "200"),
            (["x-amz-server-side-encryption": "AES256"], "200"),
            (["x-amz-metadata-directive": "REPLACE"], "200"),
            (["x-amz-metadata-directive": "KEEP"], "400 InvalidArgument"),
            (
                ["x-amz-storage-class": "STANDARD", "x-amz-copy-source-if-unmodified-since": past],
                "412 PreconditionFailed"
            ),
            (["x-amz-storage-class": "STANDARD", "x-amz-copy-source-if-modified-since": past], "200"),
            (["x-amz-storage-class": "STANDARD", "x-amz-copy-source-if-match": "\"other\""], "412 PreconditionFailed"),
            (["x-amz-storage-class": "STANDARD", "if-none-match": "*"], "412 PreconditionFailed"),
            (["x-amz-storage-class": "STANDARD", "if-match": "*"], "501 NotImplemented"),
            (["x-amz-storage-class": "STANDARD", "x-amz-expected-bucket-owner": "1"], "403 AccessDenied"),
        ] as [(HeaderFields, String)])
    @LoopActor func `takes and refuses copies onto themselves as AWS does`(
        fields: HeaderFields, told: String
    ) async throws {
        let store = try ScriptedStore()
        defer { store.server.stop() }
        store.server.put("a.bin")
        #expect(try await store.copyOntoItself(fields).told == told)
        #expect(store.server.truth("a.bin").selfCopies == (told == "200" ? 1 : 0))
    }

    @Test @LoopActor func `names the condition that did not hold`() async throws {
        let store = try ScriptedStore()
        defer { store.server.stop() }
        store.server.put("a.bin")
        let answer = try await store.copyOntoItself([
            "x-amz-storage-class": "STANDARD", "x-amz-copy-source-if-unmodified-since": Self.past,
        ])
        #expect(answer.text.contains("<Condition>x-amz-copy-source-If-Unmodified-Since</Condition>"))
    }

    @Test @LoopActor func `loses what AWS loses and keeps what AWS keeps`() async throws {
        let store = try ScriptedStore()
        defer { store.server.stop() }
        store.server.put("a.bin", Self.rich)
        #expect(try await store.copyOntoItself(["x-amz-storage-class": "STANDARD"]).status == 200)
        let after = store.server.truth("a.bin")
        #expect(after.tags == ["kind": "photo"])
        #expect(
            after.fields == [
                "content-type": "image/jpeg", "cache-control": "max-age=5", "x-amz-meta-a": "1",
                "x-amz-acl": "private",
            ])
        #expect(after.storageClass == "STANDARD")
        #expect(try await store.copyOntoItself(["x-amz-metadata-directive": "REPLACE"]).status == 200)
        #expect(
            store.server.truth("a.bin").fields == ["content-type": "binary/octet-stream", "x-amz-acl": "private"])
    }

    @Test @LoopActor func `takes a bare copy where the bucket or the object says how it is encrypted`() async throws {
        let store = try ScriptedStore()
        defer { store.server.stop() }
        var seed = ScriptedS3.Seed()
        seed.kmsKey = "k"
        store.server.put("a.bin", seed)
        #expect(try await store.copyOntoItself().status == 200)
        // Silently under S3's own key now.
        #expect(store.server.truth("a.bin").fields["x-amz-server-side-encryption-aws-kms-key-id"] == nil)
        #expect(try await store.copyOntoItself().status == 400)
        store.server.encryptsByDefault(kmsKey: "b")
        #expect(try await store.copyOntoItself().status == 200)
        #expect(store.server.truth("a.bin").fields["x-amz-server-side-encryption-aws-kms-key-id"] == "b")
    }

    @Test @LoopActor func `refuses what needs a permission that is not there`() async throws {
        let store = try ScriptedStore()
        defer { store.server.stop() }
        store.server.put("a.bin", Self.rich)
        store.server.identities { $0[0].denied = ["s3:GetObjectTagging"] }
        #expect(try await store.copyOntoItself(["x-amz-storage-class": "STANDARD"]).told == "403 AccessDenied")
        store.server.identities { $0[0].denied = ["s3:ListBucket"] }
        #expect(try await store.copyOntoItself(["x-amz-storage-class": "STANDARD"]).status == 200)
        store.server.remove("a.bin")
        #expect(try await store.copyOntoItself(["x-amz-storage-class": "STANDARD"]).told == "403 AccessDenied")
        store.server.identities { $0[0].denied = [] }
        #expect(try await store.copyOntoItself(["x-amz-storage-class": "STANDARD"]).told == "404 NoSuchKey")
    }

    private static let past = "Sat, 01 Nov 2025 00:00:00 GMT"

    private static var rich: ScriptedS3.Seed {
        var seed = ScriptedS3.Seed()
        seed.contentType = "image/jpeg"
        seed.system = ["cache-control": "max-age=5"]
        seed.metadata = ["a": "1"]
        seed.tags = ["kind": "photo"]
        seed.storageClass = "STANDARD_IA"
        seed.acl = "public-read"
        seed.websiteRedirect = "/elsewhere"
        seed.lockMode = "GOVERNANCE"
        return seed
    }
}
