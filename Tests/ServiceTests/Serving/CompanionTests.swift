import CloakroomHTTP
import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomServer

/// Companion's wire, as Uppy 4 and 5 see it.
@Suite(.onLoop)
struct CompanionTests {
    private static let json: HeaderFields = ["Content-Type": "application/json"]
    private static let settings = """
        limits: {vend: {whenRedisIsAway: "open"}, upload: {requests: 100}, uploadBytes: {bytes: 100000000}}, web: {companion: true},
        uploads: {assumedBytes: 100, maximumBytes: 8388611, idKeys: [{env: "SIGNING"}]}
        """
    /// Ten of the assumed length, and no more.
    private static let few = settings.replacing("100000000", with: "1000")
    private static let key = "000102030405060708090a0b0c0d0e0f.bin"
    private static let uploads = "/companion/s3/multipart"

    /// S3 with two parts of an upload; what it says otherwise is by `METHOD query`.
    ///
    /// - Parameter before: what comes before those; `nil` for nothing.
    @LoopActor private func service(
        _ answers: [String: UpstreamResponse] = [:], settings: String = CompanionTests.settings,
        redis: any RedisClient = UnreachableRedis(),
        before: @escaping @Sendable (String) throws(TransportError) -> UpstreamResponse? = { _ in nil }
    ) throws -> TestService {
        var all: [String: UpstreamResponse] = [
            "POST uploads": .text(
                200, "<InitiateMultipartUploadResult><UploadId>S3ID</UploadId></InitiateMultipartUploadResult>"),
            "GET max-parts": .text(
                200,
                "<ListPartsResult><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag><Size>8388608</Size></Part>"
                    + "<Part><PartNumber>2</PartNumber><ETag>\"b\"</ETag><Size>3</Size></Part></ListPartsResult>"),
            "POST uploadId": .text(
                200, "<CompleteMultipartUploadResult><ETag>\"e-2\"</ETag></CompleteMultipartUploadResult>"),
            "DELETE uploadId": UpstreamResponse(status: 204),
        ]
        all.merge(answers) { $1 }
        let script = all
        return try TestService(settings, redis: redis) { request throws(TransportError) in
            if request.url.contains("sts.") { return .assumed(for: request) }
            let query = request.target.split(separator: "?").dropFirst().first ?? ""
            let name = "\(request.method) \(query.prefix { $0 != "=" })".trimmingCharacters(in: .whitespaces)
            if let answer = try before(name) { return answer }
            return script[name] ?? .error(400, "NotScripted")
        }
    }

    private func text(_ answer: String) -> String { answer.components(separatedBy: "\n\n").last ?? "" }

    private func body(_ answer: String) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(text(answer).utf8)) as? [String: Any])
    }

    private func policy(_ fields: [String: String]) throws -> String {
        let encoded = try #require(fields["policy"])
        return String(decoding: try #require(Data(base64Encoded: encoded)), as: UTF8.self)
    }

    private func status(_ answer: String) -> String { answer.components(separatedBy: "\n")[0] }

    @LoopActor private func begun(_ service: TestService, _ user: String = "u_1") async throws -> String {
        let answer = await service.ask(
            "POST", Self.uploads, token: try service.token(user), fields: Self.json,
            body: #"{"filename":"a.mp4","type":"video/mp4","metadata":{"name":"gr\u00fcn.mp4"}}"#)
        #expect(status(answer) == "200", "\(answer)")
        let body = try body(answer)
        #expect(body["key"] as? String == Self.key && body["bucket"] as? String == "photos")
        return "\(Self.uploads)/\(try #require(body["uploadId"] as? String))"
    }

    @Test @LoopActor func `hands out a form with metadata, and says so in the audit`() async throws {
        let service = try service()
        let answer = await service.ask(
            "GET", "/companion/s3/params?filename=a.jpg&type=image%2Fjpeg&metadata%5Bname%5D=gr%C3%BCn.jpg",
            token: try service.token())
        #expect(status(answer) == "200", "\(answer)")
        let body = try body(answer)
        #expect(body["method"] as? String == "POST" && body["expires"] as? Int == 900)
        let fields = try #require(body["fields"] as? [String: String])
        #expect(fields["key"] == Self.key && fields["Content-Type"] == "image/jpeg")
        #expect(fields["x-amz-meta-name"] == "=?UTF-8?B?Z3LDvG4uanBn?=" && fields["success_action_status"] == "201")
        let policy = try policy(fields)
        #expect(policy.contains(#"["content-length-range",1,8388611]"#), "\(policy)")
        #expect(policy.contains(#"{"x-amz-meta-name":"=?UTF-8?B?Z3LDvG4uanBn?="}"#), "\(policy)")
        #expect(service.auditLines.contains(Self.key))
        #expect(service.transport.requests.isEmpty)
    }

    @Test @LoopActor func `a form takes no more than it counts for where lengths are required`() async throws {
        let service = try service(
            settings: Self.settings.replacing("assumedBytes", with: "requireContentLength: true, assumedBytes"))
        let answer = await service.ask("GET", "/companion/s3/params?type=image/jpeg", token: try service.token())
        let fields = try #require(try body(answer)["fields"] as? [String: String])
        let policy = try policy(fields)
        #expect(policy.contains(#"["content-length-range",1,100]"#), "\(policy)")
    }

    @Test @LoopActor func `an upload is begun, signed, listed and completed`() async throws {
        let service = try service()
        let token = try service.token()
        let plain = await service.ask(
            "POST", Self.uploads, token: token, fields: ["Content-Type": "text/plain"],
            body: #"{"filename":"a.mp4","type":"video/mp4"}"#)
        #expect(status(plain) == "415")
        let upload = try await begun(service)
        let begin = try #require(service.transport.requests.first)
        #expect(begin.fields["x-amz-meta-name"] == "=?UTF-8?B?Z3LDvG4ubXA0?=")
        let part = try body(await service.ask("GET", "\(upload)/2?key=\(Self.key)", token: token))
        let url = try #require(part["url"] as? String)
        #expect(
            url.contains("partNumber=2&") && url.contains("X-Amz-SignedHeaders=host&") && part["expires"] as? Int == 900
        )
        #expect(service.auditLines.contains(Self.key))
        let batch = try body(
            await service.ask("GET", "\(upload)/batch?partNumbers=1,2&key=\(Self.key)", token: token))
        let urls = try #require(batch["presignedUrls"] as? [String: String])
        #expect(Set(urls.keys) == ["1", "2"] && urls["2"]?.contains("partNumber=2&") == true)
        let listed = await service.ask("GET", "\(upload)?key=\(Self.key)", token: token)
        #expect(
            text(listed)
                == #"[{"PartNumber":1,"ETag":"\"a\"","Size":8388608},{"PartNumber":2,"ETag":"\"b\"","Size":3}]"#)
        let form = await service.ask(
            "POST", "\(upload)/complete?key=\(Self.key)", token: token, fields: ["Content-Type": "text/plain"],
            body: #"{"parts":[{"PartNumber":1,"ETag":"a"}]}"#)
        #expect(status(form) == "415")
        let done = await service.ask(
            "POST", "\(upload)/complete?key=\(Self.key)", token: token, fields: Self.json,
            body: #"{"parts":[{"PartNumber":1,"ETag":"\"a\""},{"PartNumber":2,"ETag":"b"}]}"#)
        #expect(
            text(done)
                == #"{"location":"https://photos.example/\#(Self.key)","key":"\#(Self.key)","bucket":"photos"}"#,
            "\(done)")
        #expect(text(await service.ask("DELETE", "\(upload)?key=\(Self.key)", token: token)) == "{}")
    }

    @Test @LoopActor func `no other user, key or kind of upload opens an id, and errors say why as Uppy reads it`()
        async throws
    {
        let service = try service()
        let (token, other) = (try service.token(), try service.token("u_2"))
        let upload = try await begun(service)
        let begun = await service.ask(
            "POST", "/v2/uploads", token: token, fields: Self.json,
            body: #"{"contentType":"video/mp4","contentLength":3}"#)
        let ours = try #require(try body(begun)["uploadId"] as? String)
        let count = service.transport.requests.count
        let none = #"{"error":"No such upload","code":"upload_not_found","message":"No such upload"}"#
        for (target, token) in [
            ("\(upload)/1?key=\(Self.key)", other), ("\(upload)/1?key=x.bin", token), ("\(upload)/1", token),
            ("\(upload)x/1?key=\(Self.key)", token), ("\(Self.uploads)/\(ours)/1?key=\(Self.key)", token),
            ("\(upload)?key=\(Self.key)", other),
        ] {
            let answer = await service.ask("GET", target, token: token)
            #expect(status(answer) == "404" && text(answer) == none, "\(target): \(answer)")
        }
        let id = upload.dropFirst(Self.uploads.count)
        #expect(status(await service.ask("GET", "/v2/uploads\(id)/parts?numbers=1", token: token)) == "404")
        #expect(service.transport.requests.count == count)
        for (target, sentence) in [
            ("\(upload)/0?key=\(Self.key)", "Parts have numbers from 1 to 2, and at most 100 are signed at once"),
            ("/companion/s3/params?filename=a", "type is required"),
            ("/companion/s3/params?type=text/html", "This content type cannot be uploaded"),
        ] {
            let answer = await service.ask("GET", target, token: token)
            #expect(try status(answer) == "400" && body(answer)["message"] as? String == sentence, "\(answer)")
        }
        let unknown = await service.ask("GET", "/companion/s3/params?type=image/jpeg", token: "a.b.c")
        #expect(
            text(unknown) == #"{"error":"Invalid auth token","code":"unauthorized","message":"Invalid auth token"}"#)
        let wrong = await service.ask("PUT", "\(upload)?key=\(Self.key)", token: token)
        #expect(status(wrong) == "405" && wrong.contains("Allow: GET, DELETE"))
    }

    @Test @LoopActor func `completes what is there and allowed, and nothing else`() async throws {
        let service = try service()
        let token = try service.token()
        let upload = try await begun(service)
        func complete(_ parts: String, _ service: TestService, _ upload: String) async throws -> String {
            await service.ask(
                "POST", "\(upload)/complete?key=\(Self.key)", token: token, fields: Self.json,
                body: #"{"parts":[\#(parts)]}"#)
        }
        let (a, b) = (#"{"PartNumber":1,"ETag":"a"}"#, #"{"PartNumber":2,"ETag":"b"}"#)
        for (parts, sentence) in [
            (#"{"PartNumber":3,"ETag":"c"}"#, "Part 3 has not been uploaded"),
            (#"{"PartNumber":1,"ETag":"b"}"#, "Part 1 has another entity tag"),
        ] {
            let answer = try await complete(parts, service, upload)
            #expect(try status(answer) == "409" && body(answer)["message"] as? String == sentence, "\(answer)")
        }
        #expect(status(try await complete("", service, upload)) == "400")
        #expect(!service.transport.requests.contains { $0.method == "POST" && $0.target.contains("uploadId") })
        #expect(status(try await complete(a, service, upload)) == "200")
        #expect(status(try await complete("\(b),\(a)", service, upload)) == "200")
        let small = try self.service(settings: Self.settings.replacing("8388611", with: "8388610"))
        let answer = try await complete("\(a),\(b)", small, try await begun(small))
        #expect(
            try status(answer) == "409"
                && body(answer)["message"] as? String == "The parts have 8388611 bytes, and 8388610 are the most",
            "\(answer)")
    }

    @Test @LoopActor func `what is longer than assumed counts when it is complete`() async throws {
        let service = try service(settings: Self.few)
        let token = try service.token()
        let upload = try await begun(service)
        func complete() async -> String {
            await service.ask(
                "POST", "\(upload)/complete?key=\(Self.key)", token: token, fields: Self.json,
                body: #"{"parts":[{"PartNumber":1,"ETag":"a"},{"PartNumber":2,"ETag":"b"}]}"#)
        }
        let answer = await complete()
        #expect(
            try status(answer) == "400"
                && body(answer)["message"] as? String == "At most 1000 bytes can be uploaded at once")
        #expect(!service.transport.requests.contains { $0.method == "POST" && $0.target.contains("uploadId") })
    }

    @LoopActor private func complete(_ service: TestService, _ upload: String) async throws -> String {
        await service.ask(
            "POST", "\(upload)/complete?key=\(Self.key)", token: try service.token(), fields: Self.json,
            body: #"{"parts":[{"PartNumber":1,"ETag":"a"},{"PartNumber":2,"ETag":"b"}]}"#)
    }

    /// What the next request is told.
    @LoopActor private func bytesLeft(_ service: TestService, _ upload: String) async throws -> Int? {
        let answer = await service.ask("GET", "\(upload)/1?key=\(Self.key)", token: try service.token())
        return answer.firstMatch(of: /"uploadBytes";r=([0-9]+);/).flatMap { Int($0.1) }
    }

    @Test @LoopActor func `a completion counts its bytes unless it surely made nothing, or another one made it`()
        async throws
    {
        let made = UpstreamResponse.text(
            200, "<CompleteMultipartUploadResult><ETag>\"e-2\"</ETag></CompleteMultipartUploadResult>")
        let (gone, denied) = (UpstreamResponse.error(404, "NoSuchUpload"), UpstreamResponse.error(403, "AccessDenied"))
        let there = UpstreamResponse(status: 200, fields: ["ETag": "\"e-2\"", "Content-Length": "8388611"])
        let none = UpstreamResponse(status: 404)
        let (counted, givenBack) = (100_000_000 - 8_388_611, 100_000_000 - 100)
        // No response in time is `nil`.
        for (attempts, head, expected, left) in [
            ([made], there, "200", counted), ([nil], none, "503", counted),
            ([.error(500, "InternalError")], none, "503", counted), ([nil, denied], none, "500", counted),
            ([denied], none, "500", givenBack), ([.error(503, "SlowDown")], none, "503", givenBack),
            ([.error(400, "InvalidPart")], none, "409", givenBack), ([nil, gone], there, "200", counted),
            ([gone], there, "200", givenBack), ([gone], none, "404", givenBack), ([nil, gone], none, "404", givenBack),
        ] as [([UpstreamResponse?], UpstreamResponse, String, Int)] {
            let number = Mutex(0)
            let service = try service(["HEAD": head]) { name throws(TransportError) in
                guard name == "POST uploadId" else { return nil }
                let attempt = number.withLock { number in
                    number += 1
                    return number - 1
                }
                guard let answer = attempts[min(attempt, attempts.count - 1)] else { throw .timeout }
                return answer
            }
            let upload = try await begun(service)
            let answer = try await complete(service, upload)
            #expect(status(answer) == expected, "\(attempts): \(answer)")
            #expect(try await bytesLeft(service, upload) == left, "\(attempts)")
        }
    }

    /// Of each window the last request, as Redis has it.
    @Test @LoopActor func `a completion uses up a window as any other upload`() async throws {
        let count = "*8\r\n" + String(repeating: ":99\r\n:3600000\r\n:0\r\n:3600000\r\n", count: 2)
        let redis = FakeRedis(Array(repeating: count, count: 3))
        let service = try service(settings: Self.settings + ", entitlements: {enabled: false}", redis: redis)
        let upload = try await begun(service)
        #expect(status(try await complete(service, upload)) == "200")
        let counted = redis.requests.count { $0.contains { $0.contains("limit:upload:") } }
        let device = try #require(WindowLabel(.upload, isOfUser: false))
        #expect(counted > 1, "\(redis.requests)")
        #expect(service.metrics.row[service.metrics.layout.usedUp[device]] == UInt64(counted))
    }

    @Test @LoopActor func `the repeat of a completion without a response counts nothing more`() async throws {
        let isMade = Mutex(false)
        let there = UpstreamResponse(status: 200, fields: ["ETag": "\"e-2\"", "Content-Length": "8388611"])
        let service = try service(["HEAD": there]) { name throws(TransportError) in
            if name == "GET max-parts", isMade.withLock({ $0 }) { return .error(404, "NoSuchUpload") }
            guard name == "POST uploadId" else { return nil }
            isMade.withLock { $0 = true }
            throw .timeout
        }
        let upload = try await begun(service)
        for expected in ["503", "200", "200"] {
            #expect(status(try await complete(service, upload)) == expected)
            #expect(try await bytesLeft(service, upload) == 100_000_000 - 8_388_611)
        }
    }

    @Test @LoopActor func `completing has one deadline, whatever S3 is asked for`() async throws {
        let there = UpstreamResponse(status: 200, fields: ["ETag": "\"e-2\"", "Content-Length": "8388611"])
        let service = try service(
            ["POST uploadId": .error(404, "NoSuchUpload"), "HEAD": there],
            settings: Self.settings
                + ", aws: {timeoutMilliseconds: 10000}, server: {requestDeadlineMilliseconds: 10000}"
        ) { _ in
            Thread.sleep(forTimeInterval: 0.05)
            return nil
        }
        let upload = try await begun(service)
        #expect(status(try await complete(service, upload)) == "200")
        #expect(service.transport.requests.map(\.method) == ["POST", "GET", "POST", "HEAD"])
        let timeouts = service.transport.timeouts.dropFirst()
        let passed = zip(timeouts, timeouts.dropFirst()).map { $0 - $1 }
        #expect(passed.allSatisfy { $0 > .milliseconds(40) }, "\(timeouts)")
    }

    @Test @LoopActor func `S3 may take all that is left of the request's time to complete, after a failure too`()
        async throws
    {
        let failures = Mutex([UpstreamResponse.error(503, "SlowDown")])
        let service = try service { name throws(TransportError) in
            guard name == "POST uploadId" else { return nil }
            return failures.withLock { $0.popLast() }
        }
        let upload = try await begun(service)
        #expect(status(try await complete(service, upload)) == "200")
        let timeouts = service.transport.timeouts
        #expect(timeouts.map { $0 > .seconds(5) } == [false, false, true, true], "\(timeouts)")
    }

    @Test @LoopActor func `an upload can be given up where nothing else is let in, until as many more have come`()
        async throws
    {
        let service = try service(settings: Self.settings.replacing("requests: 100", with: "requests: 2"))
        let token = try service.token()
        let upload = try await begun(service)
        var seen: [String] = []
        for method in ["GET", "GET", "DELETE", "DELETE", "DELETE"] {
            let answer = await service.ask(method, "\(upload)?key=\(Self.key)", token: token)
            seen.append(status(answer))
            #expect(answer.contains("\"upload\";q=2;w=3600") && answer.contains("\"upload\";r=0;"), "\(answer)")
        }
        #expect(seen == ["200", "429", "200", "200", "429"])
    }

    @Test @LoopActor func `Redis is told up to how many requests an upload can be given up`() async throws {
        let counts = [0, 100, 100].map { used in
            "*8\r\n" + String(repeating: ":\(used)\r\n:3600000\r\n:0\r\n:3600000\r\n", count: 2)
        }
        let redis = FakeRedis(counts)
        let service = try service(settings: Self.settings + ", entitlements: {enabled: false}", redis: redis)
        let upload = try await begun(service)
        for (method, expected) in [("GET", "429"), ("DELETE", "200")] {
            let answer = await service.ask(method, "\(upload)?key=\(Self.key)", token: try service.token())
            #expect(status(answer) == expected, "\(answer)")
        }
        // Behind four keys, of a device's requests and of a user's.
        let bounds = redis.requests.map { $0.count > 14 ? [$0[8], $0[14]] : [] }
        #expect(bounds == [["100", "400"], ["100", "400"], ["200", "800"]])
    }

    @Test @LoopActor func `each upload counts as one of the assumed length`() async throws {
        let service = try service(settings: Self.few)
        let token = try service.token()
        for _ in 0..<10 { _ = try await begun(service) }
        let eleventh = await service.ask("GET", "/companion/s3/params?type=image/jpeg", token: token)
        #expect(try status(eleventh) == "429" && body(eleventh)["message"] as? String == "Too many bytes to upload")
    }

    @Test @LoopActor func `vends credentials in Companion's spelling`() async throws {
        let service = try service()
        let token = try service.token()
        let answer = await service.ask("GET", "/companion/s3/sts", token: token)
        #expect(
            text(answer)
                == #"{"credentials":{"AccessKeyId":"ASIA1","SecretAccessKey":"s3cr3t","SessionToken":"t0k3n","Expiration":"#
                + #""2027-01-15T09:00:00Z"},"bucket":"photos","region":"eu-central-1"}"#, "\(answer)")
        #expect(status(await service.ask("GET", "/companion/s3/sts?scope=read", token: token)) == "200")
        #expect(status(await service.ask("GET", "/companion/s3/sts?scope=none", token: token)) == "403")
        #expect(service.auditLines.contains(#""session":"#))
    }

    @Test @LoopActor func `is not there unless it is switched on`() async throws {
        let service = try service(settings: Self.settings.replacing("web: {companion: true},", with: ""))
        let answer = await service.ask("GET", "/companion/s3/sts", token: try service.token())
        #expect(status(answer) == "404" && text(answer) == #"{"error":"No such route","code":"not_found"}"#)
    }
}
