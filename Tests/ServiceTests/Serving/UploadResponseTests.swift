import CloakroomCrypto
import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

/// Forms and uploads in parts, as clients see them.
@Suite(.onLoop)
struct UploadResponseTests {
    private static let json: HeaderFields = ["Content-Type": "application/json"]
    private static let settings = """
        limits: {upload: {requests: 100}, uploadBytes: {bytes: 20000000}},
        uploads: {assumedBytes: 100, idKeys: [{env: "SIGNING"}]}
        """
    private static let key = "000102030405060708090a0b0c0d0e0f.bin"
    private static let begin = #"{"contentType":"video/mp4","contentLength":8388611}"#

    /// S3 with two parts of an upload; what it says otherwise is by `METHOD query`.
    @LoopActor private func service(
        _ answers: [String: UpstreamResponse] = [:], settings: String = UploadResponseTests.settings
    ) throws -> TestService {
        var all: [String: UpstreamResponse] = [
            "POST uploads": .text(
                200, "<InitiateMultipartUploadResult><UploadId>S3ID</UploadId></InitiateMultipartUploadResult>"),
            "GET max-parts": .text(
                200,
                "<ListPartsResult><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag><Size>8388608</Size></Part>"
                    + "<Part><PartNumber>2</PartNumber><ETag>\"b\"</ETag><Size>3</Size></Part></ListPartsResult>"),
            "POST uploadId": .text(
                200,
                " \n<CompleteMultipartUploadResult><ETag>\"e-2\"</ETag></CompleteMultipartUploadResult>"),
            "DELETE uploadId": UpstreamResponse(status: 204),
        ]
        all.merge(answers) { $1 }
        let script = all
        return try TestService(settings) { request in
            let query = request.target.split(separator: "?").dropFirst().first ?? ""
            let name = "\(request.method) \(query.prefix { $0 != "=" })".trimmingCharacters(in: .whitespaces)
            return script[name] ?? .error(400, "NotScripted")
        }
    }

    private func body(_ answer: String) throws -> [String: Any] {
        let text = answer.components(separatedBy: "\n\n").last ?? ""
        return try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func status(_ answer: String) -> String { answer.components(separatedBy: "\n")[0] }

    @LoopActor private func begun(_ service: TestService, _ user: String = "u_1") async throws -> String {
        let answer = await service.ask(
            "POST", "/v2/uploads", token: try service.token(user), fields: Self.json, body: Self.begin)
        #expect(status(answer) == "200")
        return try #require(try body(answer)["uploadId"] as? String)
    }

    @Test @LoopActor func `hands out a form, and says so in the audit`() async throws {
        let service = try service()
        let answer = await service.ask(
            "POST", "/v2/attachments/presigned-post", token: try service.token(), fields: Self.json,
            body: #"{"contentType":"image/jpeg","maximumBytes":5000000}"#)
        #expect(status(answer) == "200")
        #expect(answer.contains("\"uploadBytes\";r=15000000;t=3600"))
        let body = try body(answer)
        let fields = try #require(body["fields"] as? [String: String])
        #expect(
            Set(body.keys) == ["objectKey", "uploadUrl", "fields", "assetUrl", "maximumBytes", "expiresAt"])
        #expect(body["objectKey"] as? String == Self.key && fields["key"] == Self.key)
        #expect(body["uploadUrl"] as? String == "https://photos.s3.eu-central-1.amazonaws.com/")
        #expect(body["assetUrl"] as? String == "https://photos.example/\(Self.key)")
        #expect(body["expiresAt"] as? String == "2027-01-15T08:15:00Z")
        #expect(
            Set(fields.keys) == [
                "key", "Content-Type", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "policy",
                "x-amz-signature",
            ])
        let policy = try #require(
            Data(base64Encoded: fields["policy"] ?? "").map { String(decoding: $0, as: UTF8.self) })
        #expect(policy.contains(#"["content-length-range",1,5000000]"#))
        #expect(service.auditLines.contains(#""kind":"upload","user":"u_1""#))
        #expect(service.auditLines.contains("\"objectKey\":\"\(Self.key)\""))
        #expect(service.transport.requests.isEmpty)
    }

    @Test @LoopActor func `uploads in parts: begins, signs parts, completes`() async throws {
        let service = try service()
        let token = try service.token()
        let first = await service.ask("POST", "/v2/uploads", token: token, fields: Self.json, body: Self.begin)
        #expect(first.contains("\"uploadBytes\";r=11611389;t=3600"))
        let begun = try body(first)
        let id = try #require(begun["uploadId"] as? String)
        #expect(
            Set(begun.keys) == ["uploadId", "objectKey", "assetUrl", "partBytes", "partCount", "expiresAt"])
        #expect(begun["objectKey"] as? String == Self.key)
        #expect(begun["partBytes"] as? Int == 8_388_608 && begun["partCount"] as? Int == 2)
        #expect(begun["expiresAt"] as? String == "2027-01-16T08:00:00Z")
        #expect(service.transport.requests[0].fields["content-type"] == "video/mp4")
        #expect(service.auditLines.isEmpty)

        let signed = await service.ask("GET", "/v2/uploads/\(id)/parts?numbers=1-2", token: token)
        let parts = try #require(try body(signed)["parts"] as? [[String: Any]])
        #expect(parts.map { $0["partNumber"] as? Int } == [1, 2])
        #expect(parts.map { $0["contentLength"] as? Int } == [8_388_608, 3])
        let url = try #require(parts[1]["uploadUrl"] as? String)
        #expect(url.hasPrefix("https://photos.s3.eu-central-1.amazonaws.com/\(Self.key)?X-Amz-"))
        #expect(url.contains("X-Amz-SignedHeaders=content-length%3Bhost&partNumber=2&uploadId=S3ID&"))
        #expect(try body(signed)["expiresAt"] as? String == "2027-01-15T08:15:00Z")
        #expect(service.auditLines.contains(#""kind":"upload","user":"u_1""#))

        for etags in [#"{"etags":["a","\"b\""]}"#, ""] {
            let done = await service.ask(
                "POST", "/v2/uploads/\(id)/complete", token: token, fields: etags.isEmpty ? [:] : Self.json, body: etags
            )
            #expect(
                done.hasSuffix(
                    "\n\n{\"objectKey\":\"\(Self.key)\",\"assetUrl\":\"https://photos.example/\(Self.key)\"}"))
        }
        #expect(service.transport.requests.map(\.method) == ["POST", "GET", "POST", "GET", "POST"])
        let gone = await service.ask("DELETE", "/v2/uploads/\(id)", token: token)
        #expect(gone.hasPrefix("200") && gone.hasSuffix("{\"objectKey\":\"\(Self.key)\"}"))
    }

    @Test @LoopActor func `nobody else's id, no altered one and no old one gets as far as S3`() async throws {
        let service = try service()
        let id = try await begun(service)
        let sent = service.transport.requests.count
        let routes = [("GET", "/parts?numbers=1"), ("POST", "/complete"), ("DELETE", "")]
        let refusal = #"{"error":"No such upload","code":"upload_not_found"}"#
        let altered = (id.hasPrefix("A") ? "B" : "A") + id.dropFirst()
        for (user, id) in [("u_2", id), ("u_10", id), ("u_1", altered), ("u_1", "x"), ("u_1", "%2e%2e")] {
            for (method, end) in routes {
                let answer = await service.ask(method, "/v2/uploads/\(id)\(end)", token: try service.token(user))
                #expect(status(answer) == "404" && answer.hasSuffix(refusal))
            }
        }
        let token = try service.token()
        service.clock.pass(86_399)
        #expect(status(await service.ask("GET", "/v2/uploads/\(id)/parts?numbers=1", token: token)) == "200")
        service.clock.pass(1)
        for (method, end) in routes {
            let answer = await service.ask(method, "/v2/uploads/\(id)\(end)", token: try service.token())
            #expect(status(answer) == "404" && answer.hasSuffix(refusal))
        }
        #expect(service.transport.requests.count == sent)
    }

    @Test @LoopActor func `says which part is missing, or not as it was to be`() async throws {
        let one = "<ListPartsResult><Part><PartNumber>1</PartNumber><ETag>a</ETag><Size>8388608</Size></Part>"
        let both = one + "<Part><PartNumber>2</PartNumber><ETag>b</ETag><Size>3</Size></Part></ListPartsResult>"
        for (list, etags, sentence, reason) in [
            (one + "</ListPartsResult>", "", "Part 2 has not been uploaded", "part_missing"),
            (
                one + "<Part><PartNumber>2</PartNumber><ETag>b</ETag><Size>4</Size></Part></ListPartsResult>", "",
                "Part 2 has 4 bytes instead of 3", "part_length"
            ), ("<ListPartsResult/>", #"{"etags":["a"]}"#, "There are 1 etags for 2 parts", "etag_count"),
            (both, #"{"etags":["a","c"]}"#, "Part 2 has another entity tag", "part_etag"),
        ] {
            let service = try service(["GET max-parts": .text(200, list)])
            let id = try await begun(service)
            let answer = await service.ask(
                "POST", "/v2/uploads/\(id)/complete", token: try service.token(), fields: Self.json, body: etags)
            #expect(status(answer) == "409")
            #expect(
                answer.hasSuffix(#"{"error":"\#(sentence)","code":"upload_incomplete","reason":"\#(reason)"}"#))
            #expect(try await service.logLines().contains(#""reason":"\#(reason)""#))
        }
    }

    @Test @LoopActor func `an upload can be given up where no other request is let in, and that is bounded, too`()
        async throws
    {
        let service = try service(settings: Self.settings.replacing("requests: 100", with: "requests: 1"))
        let id = try await begun(service)
        for (method, end, expected) in [
            ("GET", "/parts?numbers=1", "429"), ("DELETE", "", "200"), ("DELETE", "", "429"),
        ] {
            let answer = await service.ask(method, "/v2/uploads/\(id)\(end)", token: try service.token())
            #expect(status(answer) == expected, "\(answer)")
        }
    }

    @Test @LoopActor func `S3 may take all that is left of the request's time to complete`() async throws {
        let service = try service()
        let id = try await begun(service)
        let answer = await service.ask("POST", "/v2/uploads/\(id)/complete", token: try service.token())
        #expect(status(answer) == "200")
        let timeouts = service.transport.timeouts
        #expect(timeouts.map { $0 > .seconds(5) } == [false, false, true], "\(timeouts)")
    }

    @Test @LoopActor func `who asks again after the answer was lost learns that it is complete`() async throws {
        let there = UpstreamResponse(status: 200, fields: ["ETag": "\"e-2\"", "Content-Length": "8388611"])
        let other = UpstreamResponse(status: 200, fields: ["ETag": "\"e\"", "Content-Length": "5"])
        let gone = UpstreamResponse.error(404, "NoSuchUpload")
        for (answers, expected) in [
            (["GET max-parts": gone, "HEAD": there], "200"),
            // Ceph's words for it.
            (["GET max-parts": .error(404, "NoSuchKey"), "HEAD": there], "200"),
            (["GET max-parts": .error(404, "NoSuchKey"), "HEAD": other], "404"),
            (["POST uploadId": gone, "HEAD": there], "200"),
            (["POST uploadId": .error(412, "PreconditionFailed"), "HEAD": there], "200"),
            (["POST uploadId": .error(412, "PreconditionFailed"), "HEAD": other], "404"),
            (["GET max-parts": gone, "HEAD": UpstreamResponse(status: 404)], "404"),
        ] as [([String: UpstreamResponse], String)] {
            let service = try service(answers)
            let id = try await begun(service)
            let answer = await service.ask("POST", "/v2/uploads/\(id)/complete", token: try service.token())
            #expect(status(answer) == expected)
        }
    }

    /// The entity tag of an object is the MD5 of its parts' MD5s, and their number.
    @Test @LoopActor func `completed again is the object of the same parts alone`() async throws {
        let (one, two) = (MD5.hash("one".utf8), MD5.hash("two".utf8))
        let tag = MD5.hash(one + two).hexadecimal
        func answer(_ tag: String, _ etags: [[UInt8]]) async throws -> String {
            let there = UpstreamResponse(status: 200, fields: ["ETag": "\"\(tag)\"", "Content-Length": "8388611"])
            let service = try service(["GET max-parts": .error(404, "NoSuchKey"), "HEAD": there])
            let id = try await begun(service)
            let list = etags.map { "\"\($0.hexadecimal)\"" }.joined(separator: ",")
            return await service.ask(
                "POST", "/v2/uploads/\(id)/complete", token: try service.token(), fields: Self.json,
                body: "{\"etags\":[\(list)]}")
        }
        #expect(status(try await answer("\(tag)-2", [one, two])) == "200")
        let other = try await answer("\(tag)-2", [two, one])
        #expect(status(other) == "409" && other.contains("made of parts with other entity tags"))
        #expect(status(try await answer("\(tag)-2", [one])) == "409")
        // Renewed since: copied in one piece, or in other parts.
        #expect(status(try await answer(tag, [one, two])) == "200")
        #expect(status(try await answer("\(tag)-3", [one, two])) == "200")
    }

    @Test(arguments: [
        (403, "AccessDenied", "500", "internal_error"), (404, "NoSuchBucket", "500", "internal_error"),
        (503, "SlowDown", "503", "unavailable"), (200, "InternalError", "503", "unavailable"),
    ])
    @LoopActor func `tells of S3's troubles no more than whether to come back`(
        upstream: Int, code: String, expected: String, word: String
    ) async throws {
        let service = try service(["POST uploads": .error(upstream, code)])
        let answer = await service.ask(
            "POST", "/v2/uploads", token: try service.token(), fields: Self.json, body: Self.begin)
        #expect(status(answer) == expected && answer.contains("\"code\":\"\(word)\""))
        #expect(try await service.logLines().contains("\"reason\":\"\(code)\""))
    }

    @Test(arguments: ["SlowDown", "AccessDenied", "InternalError", ""])
    @LoopActor func `an upload that S3 does not begin counts as a request, and no bytes`(code: String) async throws {
        let service = try TestService(Self.settings) { _ throws(TransportError) in
            guard !code.isEmpty else { throw .timeout }
            return .error(code == "AccessDenied" ? 403 : 503, code)
        }
        // Three of them would be more than a window takes.
        for number in 1...4 {
            let answer = await service.ask(
                "POST", "/v2/uploads", token: try service.token(), fields: Self.json, body: Self.begin)
            #expect(status(answer) == (code == "AccessDenied" ? "500" : "503"), "\(answer)")
            #expect(
                answer.contains("\"upload\";r=\(100 - number);t=3600, \"uploadBytes\";r=20000000;t=3600"), "\(answer)")
            #expect(answer.contains("\"uploadBytesUser\";r=80000000;t=3600"), "\(answer)")
        }
    }

    @Test @LoopActor func `what the audit does not keep counts no bytes`() async throws {
        let service = try TestService(Self.settings, audit: "/dev/full")
        for number in 1...3 {
            let answer = await service.ask(
                "GET", "/v2/attachments/presigned?contentType=image%2Fjpeg&contentLength=9000000",
                token: try service.token())
            #expect(status(answer) == "503", "\(answer)")
            #expect(
                answer.contains("\"upload\";r=\(100 - number);t=3600, \"uploadBytes\";r=20000000;t=3600"), "\(answer)")
        }
    }

    /// Redis' response to a count of both windows, of the device and of the user.
    private static let counted = "*8\r\n" + String(repeating: ":0\r\n:3600000\r\n", count: 4)

    /// - Parameter change: of the user's record.
    private static func record(_ change: [UserRecord.Field: String]) -> String {
        .redisArray(UserRecord.requestFields.map { $0 == .updated ? "1800000000" : change[$0] })
    }

    @Test(
        arguments: [
            ([.storageUsed: "10", .storageLimit: "10"], "storage_quota_exceeded"), ([.disabled: "1"], "user_disabled"),
        ] as [([UserRecord.Field: String], String)])
    @LoopActor func `an upload that the user's record refuses gives its bytes back to Redis, and nothing else`(
        change: [UserRecord.Field: String], code: String
    ) async throws {
        let redis = FakeRedis([Self.counted + Self.record(change), "*4\r\n:0\r\n:0\r\n:0\r\n:0\r\n"])
        let service = try TestService(Self.settings, redis: redis)
        let answer = await service.ask(
            "POST", "/v2/uploads", token: try service.token(), fields: Self.json, body: Self.begin)
        #expect(status(answer) == "403" && answer.contains(code), "\(answer)")
        #expect(answer.contains("\"upload\";r=99;t=3600, \"uploadBytes\";r=20000000;t=3600"), "\(answer)")
        try #require(redis.requests.count == 2)
        let refund = redis.requests[1]
        #expect(refund[0] == "EVALSHA" && refund[2] == "2", "\(refund)")
        #expect(refund[3...4].allSatisfy { $0.contains("limit:uploadBytes:{") }, "\(refund)")
        #expect(refund[5...] == ["-8388611", "20000000", "3600000", "-8388611", "80000000", "3600000"])
    }

    @Test @LoopActor func `an upload that begins, or that no window admits, takes one request to Redis`() async throws {
        let full = "*8\r\n" + String(repeating: ":19999999\r\n:3600000\r\n", count: 4)
        for (count, expected) in [(Self.counted, "200"), (full, "429")] {
            let redis = FakeRedis([count + Self.record([:])])
            let service = try TestService(Self.settings, redis: redis) { _ in
                .text(200, "<InitiateMultipartUploadResult><UploadId>S3ID</UploadId></InitiateMultipartUploadResult>")
            }
            let answer = await service.ask(
                "POST", "/v2/uploads", token: try service.token(), fields: Self.json, body: Self.begin)
            #expect(status(answer) == expected, "\(answer)")
            #expect(redis.requests.map { $0[0] } == ["EVALSHA"])
        }
    }

    @Test @LoopActor func `asks S3 for nothing that the device may not announce`() async throws {
        let service = try service()
        let large = #"{"contentType":"video/mp4","contentLength":20000001}"#
        let answer = await service.ask(
            "POST", "/v2/uploads", token: try service.token(), fields: Self.json, body: large)
        // As many as no window ever has: waiting would not help.
        #expect(status(answer) == "400" && answer.contains("At most 20000000 bytes can be uploaded at once"))
        #expect(!answer.contains("Retry-After"))
        #expect(service.transport.requests.isEmpty)
        let form = #"{"contentType":"video/mp4"}"#
        #expect(
            status(
                await service.ask(
                    "POST", "/v2/attachments/presigned-post", token: try service.token(), fields: Self.json,
                    body: form)) == "400", "a form that names no maximum may bring the largest object")
    }

    @Test @LoopActor func `refuses bodies and queries that it cannot take`() async throws {
        let service = try service()
        let id = try await begun(service)
        let token = try service.token()
        for (method, target, body, expected) in [
            ("POST", "/v2/uploads", "", "400"), ("POST", "/v2/uploads", #"{"contentType":"video/mp4"}"#, "400"),
            ("POST", "/v2/uploads", #"{"contentType":"text/html","contentLength":5}"#, "400"),
            ("POST", "/v2/attachments/presigned-post", "[]", "400"),
            ("GET", "/v2/uploads/\(id)/parts", "", "400"), ("GET", "/v2/uploads/\(id)/parts?numbers=3", "", "400"),
            ("GET", "/v2/uploads/\(id)/parts?numbers=1-200", "", "400"),
            ("POST", "/v2/uploads/\(id)/complete", #"{"etags":[]}"#, "400"),
            ("POST", "/v2/uploads/\(id)/complete", #"{"etags":["a",1]}"#, "400"),
            ("POST", "/v2/uploads/\(id)/complete", #"{"parts":[]}"#, "400"),
        ] {
            let answer = await service.ask(method, target, token: token, fields: Self.json, body: body)
            #expect(status(answer) == expected, "\(method) \(target) \(body)")
        }
        for target in ["/v2/uploads", "/v2/attachments/presigned-post"] {
            #expect(status(await service.ask("POST", target, token: token, body: "{}")) == "415")
            #expect(status(await service.ask("POST", target, fields: Self.json, body: "{}")) == "401")
        }
        #expect(service.transport.requests.count == 1)
    }
}
