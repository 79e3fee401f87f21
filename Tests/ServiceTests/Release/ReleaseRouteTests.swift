import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomServer

/// Images of chats as clients see them: their upload, and their release.
@Suite(.onLoop)
struct ReleaseRouteTests {
    private static let json: HeaderFields = ["Content-Type": "application/json"]
    private static let key = "chats/000102030405060708090a0b0c0d0e0f.bin"
    private static let route = "/v2/assets/release-batch"

    @LoopActor private func service(
        mode: String = "delete", more: String = "release: {requests: 100}", audit: String? = nil,
        _ script: @escaping ScriptedTransport.Script = { _ in UpstreamResponse(status: 204) }
    ) throws -> TestService {
        try TestService(
            """
            uploads: {keyPrefix: "assets/", chatKeyPrefix: "chats/", idKeys: [{env: "SIGNING"}]},
            release: {mode: "\(mode)", keys: [{env: "SIGNING"}]}, lifecycle: {noncurrentDays: 3},
            limits: {upload: {requests: 100}, \(more)}
            """, audit: audit, transport: script)
    }

    private func object(_ answer: String) throws -> [String: Any] {
        let text = answer.components(separatedBy: "\n\n").last ?? ""
        return try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func results(_ answer: String) throws -> [[String: Any]] {
        try #require(try object(answer)["results"] as? [[String: Any]])
    }

    @LoopActor private func token(_ service: TestService, of user: String = "u_1") async throws -> String {
        let answer = await service.ask(
            "GET", "/v2/attachments/presigned?contentType=image/png&purpose=chat", token: try service.token(user))
        let body = try object(answer)
        #expect(body["objectKey"] as? String == Self.key)
        return try #require(body["releaseToken"] as? String)
    }

    private func body(_ images: [(key: String, token: String)]) -> String {
        #"{"images":[\#(images.map { #"{"key":"\#($0.key)","releaseToken":"\#($0.token)"}"# }.joined(separator: ","))]}"#
    }

    @LoopActor private func release(
        _ service: TestService, _ images: [(key: String, token: String)], as user: String = "u_1"
    ) async throws -> String {
        await service.ask(
            "POST", Self.route, token: try service.token(user), fields: Self.json, body: body(images))
    }

    // MARK: Uploads

    @Test @LoopActor func `an image of a chat has a prefix of its own and a token, by PUT, as a form and multipart`()
        async throws
    {
        let service = try service { _ in
            .text(200, "<InitiateMultipartUploadResult><UploadId>S3ID</UploadId></InitiateMultipartUploadResult>")
        }
        let token = try service.token()
        let tokenOfKey = try await self.token(service)
        let form = try object(
            await service.ask(
                "POST", "/v2/attachments/presigned-post", token: token, fields: Self.json,
                body: #"{"contentType":"image/png","purpose":"chat"}"#))
        let parts = try object(
            await service.ask(
                "POST", "/v2/uploads", token: token, fields: Self.json,
                body: #"{"contentType":"image/png","contentLength":9,"purpose":"chat"}"#))
        for body in [form, parts] {
            #expect(body["objectKey"] as? String == Self.key)
            #expect(body["releaseToken"] as? String == tokenOfKey)
            #expect(body["assetUrl"] as? String == "https://photos.example/\(Self.key)")
        }
        #expect(service.transport.requests.first?.target.contains("/\(Self.key)?uploads") == true)
    }

    @Test(arguments: ["", "&purpose="]) @LoopActor
    func `without the purpose there is neither`(purpose: String) async throws {
        let service = try service()
        let answer = await service.ask(
            "GET", "/v2/attachments/presigned?contentType=image/png\(purpose)", token: try service.token())
        guard purpose.isEmpty else {
            #expect(answer.hasPrefix("400\n") && answer.contains(#"purpose must be \"chat\", or absent"#))
            return
        }
        let body = try object(answer)
        #expect(body["objectKey"] as? String == "assets/000102030405060708090a0b0c0d0e0f.bin")
        #expect(body["releaseToken"] == nil)
    }

    @Test @LoopActor func `where chats are off, both are refused with a code of their own`() async throws {
        let service = try TestService("limits: {upload: {requests: 100}}, uploads: {idKeys: [{env: \"SIGNING\"}]}")
        let expected = #"{"error":"Images of chats are not set up here","code":"chat_not_enabled"}"#
        let token = try service.token()
        for (method, target, body) in [
            ("GET", "/v2/attachments/presigned?contentType=image/png&purpose=chat", ""),
            ("POST", "/v2/attachments/presigned-post", #"{"contentType":"image/png","purpose":"chat"}"#),
            ("POST", "/v2/uploads", #"{"contentType":"image/png","contentLength":9,"purpose":"chat"}"#),
            ("POST", Self.route, #"{"images":[{"key":"chats/a.bin","releaseToken":"v1.x"}]}"#),
        ] {
            let answer = await service.ask(method, target, token: token, fields: Self.json, body: body)
            #expect(answer.hasPrefix("404\n") && answer.hasSuffix(expected), "\(target): \(answer)")
        }
        #expect(service.transport.requests.isEmpty && service.auditLines == "")
    }

    // MARK: Releases

    @Test @LoopActor func `deletes the object, once for all times that it is named, and says so each time`()
        async throws
    {
        let service = try service()
        let token = try await token(service)
        let answer = try await release(service, [(Self.key, token), (Self.key, token)])
        #expect(
            answer.hasSuffix(
                #"{"released":2,"failed":0,"results":[{"key":"\#(Self.key)","success":true},"#
                    + #"{"key":"\#(Self.key)","success":true}]}"#))
        let sent = service.transport.requests
        #expect(sent.count == 1 && sent.first?.method == "DELETE" && sent.first?.target == "/\(Self.key)")
        #expect(try await release(service, [(Self.key, token)]).contains(#""released":1"#))
        #expect(service.metrics.row[service.metrics.layout.releases[.released]] == 2)
    }

    @Test @LoopActor func `gives the object a tag, and says when the rule for it is through`() async throws {
        let service = try service(mode: "tag") { _ in UpstreamResponse(status: 200) }
        let token = try await token(service)
        let answer = try await release(service, [(Self.key, token)])
        // Two midnights after 08:00 on the 15th.
        #expect(try results(answer)[0]["bytesGoneBy"] as? String == "2027-01-17T00:00:00Z")
        let sent = try #require(service.transport.requests.first)
        #expect(sent.method == "PUT" && sent.target == "/\(Self.key)?tagging")
        #expect(
            String(decoding: sent.body, as: UTF8.self).contains(
                "<Tag><Key>cloakroom-released</Key><Value>true</Value></Tag>"))
    }

    @Test(arguments: [("delete", "2027-01-19T00:00:00Z"), ("tag", "2027-01-21T00:00:00Z")])
    @LoopActor func `says by when the bytes are gone where the bucket keeps versions`(
        mode: String, end: String
    ) async throws {
        let service = try service(mode: mode) { request in
            UpstreamResponse(
                status: request.method == "DELETE" ? 204 : 200,
                fields: request.method == "DELETE"
                    ? ["x-amz-delete-marker": "true", "x-amz-version-id": "v2"] : ["x-amz-version-id": "v1"])
        }
        let answer = try await release(service, [(Self.key, try await token(service))])
        #expect(try results(answer)[0]["bytesGoneBy"] as? String == end)
    }

    @Test(arguments: ["delete", "tag"]) @LoopActor
    func `an image that is not there is released`(mode: String) async throws {
        let service = try service(mode: mode) { _ in .error(404, "NoSuchKey") }
        let answer = try await release(service, [(Self.key, try await token(service))])
        #expect(answer.hasPrefix("200\n") && answer.hasSuffix(#""results":[{"key":"\#(Self.key)","success":true}]}"#))
    }

    @Test @LoopActor func `sends nothing for another user, another key, or a key outside the prefix`() async throws {
        let service = try service()
        let token = try await token(service)
        let outside = [
            "assets/a.bin", "a.bin", "chats/../assets/a.bin", "chats/", "chats", "chats/u/a.bin", "", "CHATS/a",
        ]
        let images = [(Self.key.replacing("0f", with: "0e"), token), (Self.key, "v1.x")] + outside.map { ($0, token) }
        let answers = [
            try await release(service, images), try await release(service, [(Self.key, token)], as: "u_2"),
        ]
        for answer in answers {
            #expect(answer.hasPrefix("200\n"))
            #expect(try results(answer).allSatisfy { $0["error"] as? String == "forbidden" })
        }
        #expect(service.transport.requests.isEmpty && !service.auditLines.contains("released"))
        #expect(service.metrics.row[service.metrics.layout.releases[.foreign]] == UInt64(images.count) + 1)
    }

    /// Also with a token for it: the settings may have had another prefix when it was made.
    @Test @LoopActor func `sends nothing for a key outside the prefix with a token that holds`() async throws {
        let service = try service()
        let key = ReleaseKey(from: Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8))
        let tokens = ReleaseTokens(keys: [key], bucket: "photos")
        let user = try #require(UserID("u_1"))
        let names = ["assets/a.bin", "a.bin", "chats/u/a.bin"]
        let answer = try await release(service, names.map { ($0, tokens.token(for: $0, of: user)) })
        #expect(try results(answer).allSatisfy { $0["error"] as? String == "forbidden" })
        #expect(service.transport.requests.isEmpty)
        let good = try await release(service, [("chats/a.bin", tokens.token(for: "chats/a.bin", of: user))])
        #expect(try results(good)[0]["success"] as? Bool == true)
    }

    @Test @LoopActor func `tells of each image alone what the store says`() async throws {
        let key = ReleaseKey(from: Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8))
        let tokens = ReleaseTokens(keys: [key], bucket: "photos")
        let user = try #require(UserID("u_1"))
        let service = try service { request in
            switch request.target {
            case "/chats/slow.bin": .error(503, "SlowDown")
            case "/chats/denied.bin": .error(403, "AccessDenied")
            default: UpstreamResponse(status: 204)
            }
        }
        let names = ["chats/a.bin", "chats/slow.bin", "chats/denied.bin"]
        let answer = try await release(service, names.map { ($0, tokens.token(for: $0, of: user)) })
        #expect(answer.hasPrefix("200\n") && answer.contains("\nRetry-After: 5\n"))
        let words = try results(answer).map { $0["error"] as? String ?? "success" }
        #expect(words == ["success", "unavailable", "internal_error"])
        #expect(try object(answer)["released"] as? Int == 1)
        #expect(try await service.logLines().contains("releases are misconfigured"))
        let layout = service.metrics.layout
        #expect(service.metrics.row[layout.releases[.unavailable]] == 1)
        #expect(service.metrics.row[layout.releases[.misconfigured]] == 1)
    }

    @Test @LoopActor func `the line of the audit comes first, and without it nothing is deleted`() async throws {
        let service = try service()
        _ = try await release(service, [(Self.key, try await token(service))])
        let line = try #require(service.auditLines.split(separator: "\n").last)
        #expect(
            line.hasPrefix(
                #"{"time":"2027-01-15T08:00:00Z","audit":"released","request":"000000000000abcd","kind":"images","#
                    + #""user":"u_1","tier":"free","issuer":"https://auth.example","objectKeys":["\#(Self.key)"],"#))
        let blind = try self.service(audit: "/dev/full")
        let token = ReleaseTokens(
            keys: [ReleaseKey(from: Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8))], bucket: "photos"
        ).token(for: Self.key, of: try #require(UserID("u_1")))
        let answer = try await release(blind, [(Self.key, token)])
        #expect(answer.hasPrefix("503\n") && answer.contains("\nRetry-After: 5\n"))
        #expect(blind.transport.requests.isEmpty)
        #expect(blind.metrics.row[blind.metrics.layout.auditFailures.index] == 1)
    }

    @Test(arguments: [
        ("{}", "images must be a non-empty array"), (#"{"images":[]}"#, "images must be a non-empty array"),
        ("[]", "Invalid request body"), (#"{"images":["a"]}"#, "Invalid request body"),
        (#"{"images":[{"key":"chats/a.bin"}]}"#, "Invalid request body"),
        (
            #"{"images":[\#(Array(repeating: #"{"key":"a","releaseToken":"b"}"#, count: 101).joined(separator: ","))]}"#,
            "Maximum 100 images per request"
        ),
    ])
    @LoopActor func `refuses a body that is no request`(body: String, sentence: String) async throws {
        let service = try service()
        let answer = await service.ask(
            "POST", Self.route, token: try service.token(), fields: Self.json, body: body)
        #expect(answer.hasPrefix("400\n"))
        #expect(answer.hasSuffix(#"{"error":"\#(sentence)","code":"invalid_request"}"#))
    }

    @Test @LoopActor func `counts requests and images in limits of their own`() async throws {
        let service = try service(more: "release: {requests: 2}, releaseKeys: {keys: 100}")
        let token = try await token(service)
        #expect(try await release(service, [(Self.key, token)]).contains(#""release";r=1;t=3600"#))
        #expect(try await release(service, Array(repeating: (Self.key, token), count: 100)).hasPrefix("429\n"))
        let last = try await release(service, [(Self.key, token)])
        #expect(last.hasPrefix("200\n"))
        let refused = try await release(service, [(Self.key, token)])
        #expect(refused.hasPrefix("429\n") && refused.contains("Too many release requests"))
    }

    // MARK: Renewals

    /// The policy of images of chats lacks `s3:GetObject`, as it does with `s3:DeleteObject` alone.
    @Test @LoopActor
    func `a batch with a missing name has results though the worker may not look for images of chats`() async throws {
        let service = try service { request in
            if request.url.contains("/chats/") { return .error(403, "AccessDenied") }
            return request.url.hasSuffix("/here.bin") ? .copied : .error(404, "NoSuchKey")
        }
        let answer = await service.ask(
            "POST", "/v2/assets/renew-batch", token: try service.token(), fields: Self.json,
            body: #"{"assetKeys":["here.bin","missing.bin"]}"#)
        #expect(answer.hasPrefix("200\n"), "\(answer)")
        #expect(try results(answer).map { $0["success"] as? Bool } == [true, false])
        #expect(try results(answer)[1]["error"] as? String == "forbidden")
        #expect(try await service.logLines().contains("renewals are misconfigured"))
    }

    @Test @LoopActor func `needs a sign-in, JSON and POST`() async throws {
        let service = try service()
        #expect(await service.ask("POST", Self.route, fields: Self.json, body: "{}").hasPrefix("401\n"))
        #expect(await service.ask("POST", Self.route, token: try service.token(), body: "{}").hasPrefix("415\n"))
        #expect(await service.ask("GET", Self.route, token: try service.token()).hasPrefix("405\n"))
    }
}
