import CloakroomWire
import Foundation
import Testing

@testable import CloakroomKit

/// What each call sends, and what it makes of the response.
@Suite struct ClientRouteTests {
    private let end = Date(timeIntervalSince1970: 1_795_186_800)

    private func json(_ body: some WireBody) -> ScriptedHTTP.Step {
        .json(200, String(decoding: body.encoded, as: UTF8.self))
    }

    /// Method, URL, body and token of the only request.
    private func request(_ http: ScriptedHTTP) async -> [String] {
        let sent = await http.sent
        guard sent.count == 1 else { return ["\(sent.count) requests"] }
        return [sent[0].line, sent[0].text, sent[0]["Authorization"] ?? "-", sent[0]["Content-Type"] ?? "-"]
    }

    private var credentials: STSTokenBody {
        STSTokenBody(
            credentials: .init(accessKeyId: "ASIA", secretAccessKey: "secret", sessionToken: "token", expiration: end),
            region: "eu-central-1", bucket: "photos")
    }

    @Test func `vends credentials`() async throws {
        let http = ScriptedHTTP(json(credentials))
        let vended = try await CloakroomClient.test(http).vendCredentials()
        #expect(await request(http) == ["POST https://api.example/api/v1/auth/sts-token", "", "Bearer t1", "-"])
        #expect(
            vended
                == VendedCredentials(
                    accessKeyID: "ASIA", secretAccessKey: .init("secret"), sessionToken: .init("token"),
                    expiration: end, region: "eu-central-1", bucket: "photos"))
    }

    @Test func `tells what others share, and refuses what is no folder of a user's`() async throws {
        var body = credentials
        body.shared = [.init(prefix: "photos/u_2/a/", owner: "u_2", until: end)]
        let vended = try await CloakroomClient.test(ScriptedHTTP(json(body))).vendCredentials()
        #expect(vended.shared == [.init(prefix: "photos/u_2/a/", owner: "u_2", until: end)])
        for (prefix, owner) in [("photos/u_2/a", "u_2"), ("photos/../u_2/", "u_2"), ("photos/u_2/", "u/2")] {
            body.shared = [.init(prefix: prefix, owner: owner, until: end)]
            let client = try CloakroomClient.test(ScriptedHTTP(json(body)))
            let error = await #expect(throws: CloakroomError.self) { try await client.vendCredentials() }
            #expect(error?.code == .invalidResponse)
        }
    }

    @Test func `requests less, in the body`() async throws {
        let http = ScriptedHTTP(json(credentials))
        _ = try await CloakroomClient.test(http).vendCredentials(scope: "read", lifetime: .seconds(900))
        #expect(
            await request(http) == [
                "POST https://api.example/api/v1/auth/sts-token", #"{"scope":"read","lifetimeSeconds":900}"#,
                "Bearer t1", "application/json",
            ])
    }

    @Test func `requests less, in the query of the route without a body`() async throws {
        let http = ScriptedHTTP(
            json(
                ContainerCredentialsBody(
                    accessKeyID: "ASIA", secretAccessKey: "secret", token: "token", expiration: end)))
        let credentials = try await CloakroomClient.test(http).containerCredentials(
            scope: "a b&c", lifetime: .seconds(900))
        #expect(
            await request(http) == [
                "GET https://api.example/v1/credentials?scope=a%20b%26c&lifetimeSeconds=900", "", "Bearer t1", "-",
            ])
        #expect(credentials.accessKeyID == "ASIA")
        #expect(credentials.revealSecretAccessKey() == "secret")
        #expect(credentials.revealSessionToken() == "token")
        #expect(credentials.expiration == end)
    }

    @Test func `signs in without the app's token`() async throws {
        let http = ScriptedHTTP(json(SessionBody(token: "session", expiresAt: end, userId: "u_1")))
        let tokens = CountingTokens()
        let session = try await CloakroomClient.test(http, tokens: tokens).signIn(
            identityToken: "ey", nonce: "n", deviceID: "phone")
        #expect(
            await request(http) == [
                "POST https://api.example/api/v1/auth/session",
                #"{"identityToken":"ey","nonce":"n","deviceId":"phone"}"#, "-", "application/json",
            ])
        #expect(session == Session(token: "session", expiration: end, userID: "u_1"))
        #expect(await tokens.calls == 0)
    }

    @Test func `continues a session with its own token`() async throws {
        let http = ScriptedHTTP(json(SessionBody(token: "later", expiresAt: end, userId: "u_1")))
        let session = Session(token: "session", expiration: end, userID: "u_1")
        let later = try await CloakroomClient.test(http, header: .named("X-Token")).continueSession(session)
        #expect(await request(http) == ["POST https://api.example/api/v1/auth/session", "", "Bearer session", "-"])
        #expect(later.revealToken() == "later")
    }

    @Test func `an ended session is not retried with the app's token`() async throws {
        let http = ScriptedHTTP(.json(401, #"{"error":"Invalid auth token","code":"unauthorized"}"#))
        let tokens = CountingTokens()
        let client = try CloakroomClient.test(http, tokens: tokens)
        await #expect(throws: CloakroomError.self) {
            try await client.continueSession(Session(token: "session", expiration: end, userID: "u_1"))
        }
        #expect(await tokens.calls == 0)
    }

    @Test func `requests a URL to PUT to`() async throws {
        let http = ScriptedHTTP(
            json(
                UploadBody(
                    objectKey: "k.bin", uploadUrl: "https://s3.example/k.bin?X-Amz-Signature=5",
                    assetUrl: "https://cdn.example/k.bin", expiresAt: end,
                    headers: ["Content-Type": "image/jpeg", "x-amz-checksum-sha256": "q="])))
        let target = try await CloakroomClient.test(http).requestUpload(
            contentType: "image/jpeg", byteCount: 7, filename: "a b.jpg", sha256: Data([0x0A, 0xFF]))
        #expect(
            await request(http) == [
                "GET https://api.example/v2/attachments/presigned?contentType=image%2Fjpeg&filename=a%20b.jpg"
                    + "&contentLength=7&sha256=0aff", "", "Bearer t1", "-",
            ])
        #expect(
            target
                == UploadTarget(
                    objectKey: "k.bin",
                    uploadURL: try #require(URL(string: "https://s3.example/k.bin?X-Amz-Signature=5")),
                    assetURL: try #require(URL(string: "https://cdn.example/k.bin")), expiration: end,
                    fields: ["Content-Type": "image/jpeg", "x-amz-checksum-sha256": "q="]))
    }

    @Test func `requests a form`() async throws {
        let http = ScriptedHTTP(
            json(
                PostUploadBody(
                    objectKey: "k.bin", uploadUrl: "https://s3.example/", fields: ["policy": "e30="],
                    assetUrl: "https://cdn.example/k.bin", maximumBytes: 9, expiresAt: end)))
        let form = try await CloakroomClient.test(http).requestFormUpload(contentType: "image/png", maximumBytes: 9)
        #expect(
            await request(http) == [
                "POST https://api.example/v2/attachments/presigned-post",
                #"{"contentType":"image/png","maximumBytes":9}"#, "Bearer t1", "application/json",
            ])
        #expect(
            form
                == FormUploadTarget(
                    objectKey: "k.bin", uploadURL: try #require(URL(string: "https://s3.example/")),
                    fields: ["policy": "e30="], assetURL: try #require(URL(string: "https://cdn.example/k.bin")),
                    maximumBytes: 9, expiration: end))
        #expect(!"\(form)".contains("e30="))
    }

    @Test func `begins an upload in parts`() async throws {
        let http = ScriptedHTTP(
            json(
                MultipartUploadBody(
                    uploadId: "x-_", objectKey: "k.bin", assetUrl: "https://cdn.example/k.bin", partBytes: 8,
                    partCount: 2, expiresAt: end)))
        let upload = try await CloakroomClient.test(http).beginMultipartUpload(contentType: "video/mp4", byteCount: 11)
        #expect(
            await request(http) == [
                "POST https://api.example/v2/uploads", #"{"contentType":"video/mp4","contentLength":11}"#, "Bearer t1",
                "application/json",
            ])
        #expect(
            upload
                == MultipartAssetUpload(
                    id: "x-_", objectKey: "k.bin", assetURL: try #require(URL(string: "https://cdn.example/k.bin")),
                    partByteCount: 8, partCount: 2, expiration: end))
    }

    @Test func `requests the URLs of parts`() async throws {
        let http = ScriptedHTTP(
            json(
                MultipartPartsBody(
                    parts: [.init(partNumber: 2, uploadUrl: "https://s3.example/k?partNumber=2", contentLength: 3)],
                    partBytes: 8, partCount: 2, expiresAt: end)))
        let parts = try await CloakroomClient.test(http).multipartUploadParts(of: "x-_/%", numbers: 2...2)
        #expect(
            await request(http) == [
                "GET https://api.example/v2/uploads/x-_%2F%25/parts?numbers=2-2", "", "Bearer t1", "-",
            ])
        #expect(
            parts == [
                AssetPart(
                    number: 2, uploadURL: try #require(URL(string: "https://s3.example/k?partNumber=2")), byteCount: 3,
                    expiration: end)
            ])
    }

    @Test func `completes an upload and gives one up`() async throws {
        let body = UploadedBody(objectKey: "k.bin", assetUrl: "https://cdn.example/k.bin")
        let http = ScriptedHTTP(json(body), json(UploadedBody(objectKey: "k.bin", assetUrl: nil)))
        let client = try CloakroomClient.test(http)
        let asset = try await client.completeMultipartUpload(id: "x", etags: ["\"1\"", "2"])
        try await client.abortMultipartUpload(id: "x")
        #expect(
            asset
                == UploadedAsset(objectKey: "k.bin", assetURL: try #require(URL(string: "https://cdn.example/k.bin"))))
        #expect(
            await http.lines == [
                "POST https://api.example/v2/uploads/x/complete", "DELETE https://api.example/v2/uploads/x",
            ])
        #expect(await http.sent[0].text == #"{"etags":["\"1\"","2"]}"#)
    }

    @Test func `requests the worker's health once`() async throws {
        let http = ScriptedHTTP(.json(200, #"{"status":"ok"}"#), .response(503), .response(200), .response(403))
        let client = try CloakroomClient.test(http)
        try await client.checkHealth()
        #expect(try await client.isReady() == false)
        #expect(try await client.isReady())
        await #expect(throws: CloakroomError.self) { try await client.isReady() }
        #expect(
            await http.lines
                == ["/healthz", "/readyz", "/readyz", "/readyz"].map { "GET https://api.example\($0)" })
        #expect(await http.sent.allSatisfy { $0["Authorization"] == nil })
    }

    @Test func `reads metrics and keys, and passes on what Apple says, without a token`() async throws {
        let http = ScriptedHTTP(.json(200, "up 1"), .json(200, #"{"keys":[]}"#), .json(200, "{}"), .response(404))
        let client = try CloakroomClient.test(http)
        #expect(try await client.metrics() == "up 1")
        #expect(try await client.sessionKeys() == Data(#"{"keys":[]}"#.utf8))
        try await client.passOnAppleNotification(payload: "a.b.c")
        await #expect(throws: CloakroomError.self) { try await client.sessionKeys() }
        let paths = [
            "/metrics", "/.well-known/jwks.json", "/api/v1/auth/apple/notifications", "/.well-known/jwks.json",
        ]
        #expect(
            await http.lines
                == zip(["GET", "GET", "POST", "GET"], paths).map { "\($0) https://api.example\($1)" })
        #expect(await http.sent[2].text == #"{"payload":"a.b.c"}"#)
        #expect(await http.sent.allSatisfy { $0["Authorization"] == nil })
    }

    @Test(arguments: [
        ("https://api.example/", "https://api.example/v1/credentials"),
        ("https://api.example/api//", "https://api.example/api/v1/credentials"),
        ("http://127.0.0.1:8080/a%20b", "http://127.0.0.1:8080/a%20b/v1/credentials"),
    ])
    func `an endpoint may have a path`(endpoint: String, url: String) async throws {
        let http = ScriptedHTTP(.response(400))
        let client = try CloakroomClient.test(http, endpoint: endpoint)
        await #expect(throws: CloakroomError.self) { try await client.containerCredentials() }
        #expect(await http.lines == ["GET \(url)"])
    }

    @Test(arguments: ["api.example", "ftp://api.example", "https://api.example?a=b", "https:///a"])
    func `what is no endpoint is asked nothing`(endpoint: String) async throws {
        let client = try CloakroomClient.test(ScriptedHTTP(), endpoint: endpoint)
        await #expect(throws: CloakroomError(.invalidRequest, "The endpoint is no address of a server")) {
            try await client.vendCredentials()
        }
    }

    @Test func `the token travels in a field of another name where that is wanted`() async throws {
        let http = ScriptedHTTP(json(credentials))
        _ = try await CloakroomClient.test(http, header: .named("X-Convos-AuthToken")).vendCredentials()
        #expect(await http.sent.map { [$0["X-Convos-AuthToken"], $0["Authorization"]] } == [["t1", nil]])
    }

    @Test(arguments: ["", "<html>", "{}", "[]", #"{"credentials":null,"region":"r","bucket":"b"}"#])
    func `a response that is none of ours is no success`(body: String) async throws {
        let http = ScriptedHTTP(.json(200, body, [("X-Request-Id", "7")]))
        let client = try CloakroomClient.test(http)
        await #expect(
            throws: CloakroomError(
                .invalidResponse, "The response is not the worker's", status: 200, requestID: "7")
        ) { try await client.vendCredentials() }
    }
}
