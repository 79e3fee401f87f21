import CloakroomAWS
import CloakroomCrypto
import CloakroomCurl
import CloakroomHTTP
import CloakroomLoop
import CloakroomScriptedS3
import CloakroomTestSupport
import Synchronization
import Testing

/// What others do with leave that we signed, at a store that answers as AWS does.
@Suite(.onLoop, .timeLimit(.minutes(2)))
struct UploadTests {
    @LoopActor private static func put(_ url: Secret, _ body: String, type: String? = nil) async throws -> Int {
        let fields: HeaderFields = type.map { ["content-type": $0] } ?? [:]
        let request = UpstreamRequest(method: "PUT", url: url.reveal(), fields: fields, body: Array(body.utf8))
        return try await LoopCurlTransport().send(request, timeout: .seconds(10)).status
    }

    @Test @LoopActor func `a presigned URL creates once, and the client need not know`() async throws {
        let store = try ScriptedS3()
        defer { store.stop() }
        let object = try #require(ObjectAddress(key: "a.bin"))
        let terms = UploadTerms(contentType: "image/jpeg", byteCount: 7, lifetime: .seconds(900))
        let upload = try await store.client().presignUpload(object, terms: terms)
        #expect(try await Self.put(upload.url, "a photo", type: "text/html") == 403)
        #expect(try await Self.put(upload.url, "a pho", type: "image/jpeg") == 403)
        #expect(try await Self.put(upload.url, "a photo", type: "image/jpeg") == 200)
        #expect(try await Self.put(upload.url, "another", type: "image/jpeg") == 412)
    }

    @Test @LoopActor func `a presigned URL reads one object until it ends`() async throws {
        let ahead = Mutex(0.0)
        var options = ScriptedS3.Options()
        options.clock = { ScriptedS3.wallClock() + ahead.withLock { $0 } }
        let store = try ScriptedS3(options)
        defer { store.stop() }
        let client = try store.client()
        let object = try #require(ObjectAddress(key: "a b+c/é=1.bin"))
        _ = try await client.put(
            object, body: Array("a photo".utf8), contentType: "image/heic", deadline: .now + .seconds(30))
        func get(_ url: Secret, _ change: (String) -> String = { $0 }) async throws -> UpstreamResponse {
            let request = UpstreamRequest(method: "GET", url: change(url.reveal()), fields: [:], body: [])
            return try await LoopCurlTransport().send(request, timeout: .seconds(10))
        }
        let (url, _) = try await client.presignDownload(
            object, contentType: "image/jpeg; a=\"b c\"", lifetime: .seconds(60))
        let found = try await get(url)
        #expect(found.status == 200 && found.body == Array("a photo".utf8))
        #expect(found.fields["content-type"] == "image/jpeg; a=\"b c\"")
        #expect(try await get(url) { $0.replacing("a%20b", with: "a%20c") }.status == 403)
        #expect(try await get(url) { $0.replacing("Expires=60", with: "Expires=61") }.status == 403)
        #expect(try await get(url) { $0.replacing("image%2Fjpeg", with: "text%2Fhtml") }.status == 403)
        ahead.withLock { $0 += 61 }
        #expect(try await get(url).status == 403)
        // A device whose clock is an hour slow, and that knows it.
        ahead.withLock { $0 += 3600 }
        #expect(try await get(client.presignDownload(object, lifetime: .seconds(60)).url).status == 403)
        let (late, _) = try await client.presignDownload(object, lifetime: .seconds(60), offset: 3661)
        #expect(try await get(late).status == 200)
    }

    @Test @LoopActor func `an upload in parts is completed once, and overwrites nothing`() async throws {
        let store = try ScriptedS3()
        defer { store.stop() }
        let client = try store.client()
        let object = try #require(ObjectAddress(key: "a b.bin"))
        let deadline = ContinuousClock.now + .seconds(30)
        func upload() async throws -> (id: String, parts: [UploadedPart]) {
            let id = try await client.createMultipartUpload(
                object, contentType: "video/mp4", fields: ["x-amz-meta-sha256": "ab"], deadline: deadline)
            let (urls, _) = try await client.presignParts(
                object, uploadID: id, parts: [PartTerms(number: 1, byteCount: 3)], lifetime: .seconds(900))
            #expect(try await Self.put(urls[0], "four") == 403)
            #expect(try await Self.put(urls[0], "end") == 200)
            let parts = try #require(try await client.parts(of: id, object, deadline: deadline))
            #expect(parts.map(\.number) == [1] && parts.map(\.byteCount) == [3])
            return (id, parts)
        }
        let (first, second) = (try await upload(), try await upload())
        for (upload, expected) in [
            (first, MultipartCompletion.completed), (second, .objectExists),
        ] {
            let completion = try await client.completeMultipartUpload(
                object, uploadID: upload.id, parts: upload.parts, deadline: deadline)
            #expect(completion == expected)
        }
        #expect(try await client.head(object, deadline: deadline)?.fields["x-amz-meta-sha256"] == "ab")
        #expect(try await client.abortMultipartUpload(object, uploadID: second.id, deadline: deadline))
        #expect(try await client.parts(of: second.id, object, deadline: deadline) == nil)
    }
}
