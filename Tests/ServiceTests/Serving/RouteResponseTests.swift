import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

/// What clients read, whole.
@Suite(.onLoop)
struct RouteResponseTests {
    private static let json = "Content-Type: application/json\nCache-Control: no-store"

    private static func limit(_ name: String, left: Int) -> String {
        "RateLimit-Policy: \"\(name)\";q=2;w=3600, \"\(name)User\";q=8;w=3600\n"
            + "RateLimit: \"\(name)\";r=\(left);t=3600, \"\(name)User\";r=\(left + 6);t=3600"
    }

    /// Of two windows: requests, and keys or bytes.
    private static func limits(_ name: String, left: Int, _ volume: String, _ quota: Int, left volumeLeft: Int)
        -> String
    {
        let unit = volume == "renewKeys" ? "keys" : "bytes"
        return "RateLimit-Policy: \"\(name)\";q=2;w=3600, \"\(volume)\";q=\(quota);w=3600;qu=\"\(unit)\""
            + ", \"\(name)User\";q=8;w=3600, \"\(volume)User\";q=\(4 * quota);w=3600;qu=\"\(unit)\"\n"
            + "RateLimit: \"\(name)\";r=\(left);t=3600, \"\(volume)\";r=\(volumeLeft);t=3600"
            + ", \"\(name)User\";r=\(left + 6);t=3600, \"\(volume)User\";r=\(volumeLeft + 3 * quota);t=3600"
    }

    /// The user `assets` would own everybody's uploads.
    @Test @LoopActor func `refuses a user id that is the first component of another prefix`() async throws {
        let service = try TestService(
            TestService.open.replacing("uploads: {", with: "uploads: {keyPrefix: 'assets/', "),
            vending: "prefixes: ['']")
        for (user, status) in [("assets", "401"), ("cloakroom-doctor-1", "401"), ("assets2", "200")] {
            let token = try service.token(user)
            for _ in 0..<2 {
                #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: token).hasPrefix(status), "\(user)")
            }
        }
        #expect(try await service.logLines().contains(#""reason":"reserved_user_id""#))
    }

    @Test @LoopActor func `vends credentials`() async throws {
        let service = try TestService()
        #expect(
            await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token()) == """
                200
                \(Self.json)
                \(Self.limit("vend", left: 1))

                {"credentials":{"accessKeyId":"ASIA1","secretAccessKey":"s3cr3t","sessionToken":"t0k3n",\
                "expiration":"2027-01-15T09:00:00Z"},"region":"eu-central-1","bucket":"photos","userId":"u_1",\
                "prefixes":{"metadata":"metadata/u_1/","photos":"photos/u_1/","thumbnails":"thumbnails/u_1/"}}
                """)
    }

    @Test @LoopActor func `names the folders of the settings and of the user, from the cache too`() async throws {
        let service = try TestService(
            #"limits: {vend: {requests: 1000, whenRedisIsAway: "open"}}"#, vending: #"prefixes: ["photos", "catalogs"]"#
        )
        for user in ["u_1", "u_1", "u_2"] {
            let answer = await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token(user))
            #expect(
                answer.hasSuffix(
                    #","userId":"\#(user)","prefixes":{"catalogs":"catalogs/\#(user)/","photos":"photos/\#(user)/"}}"#),
                "\(answer)")
        }
        #expect(service.transport.requests.count == 2)
    }

    @Test @LoopActor func `vends credentials as AWS SDKs read them`() async throws {
        let service = try TestService()
        let bare: HeaderFields = ["Authorization": try service.token()]
        #expect(
            await service.ask("GET", "/v1/credentials", fields: bare) == """
                200
                \(Self.json)
                \(Self.limit("vend", left: 1))

                {"AccessKeyId":"ASIA1","SecretAccessKey":"s3cr3t","Token":"t0k3n","Expiration":"2027-01-15T09:00:00Z"}
                """)
    }

    @Test @LoopActor func `gives leave to upload`() async throws {
        let service = try TestService()
        let answer = await service.ask(
            "GET", "/v2/attachments/presigned?contentType=image%2Fjpeg&filename=..%2Fx", token: try service.token())
        let head = "200\n\(Self.json)\n\(Self.limits("upload", left: 1, "uploadBytes", 1000, left: 900))\n\n"
        #expect(answer.hasPrefix(head))
        let key = "000102030405060708090a0b0c0d0e0f.bin"
        let url = "https://photos.s3.eu-central-1.amazonaws.com/\(key)?If-None-Match=%2A&X-Amz-"
        #expect(answer.dropFirst(head.count).hasPrefix("{\"objectKey\":\"\(key)\",\"uploadUrl\":\"\(url)"))
        #expect(
            answer.hasSuffix(
                """
                ","assetUrl":"https://photos.example/\(key)","url":"https://photos.example/\(key)",\
                "expiresAt":"2027-01-15T08:15:00Z","headers":{"content-type":"image/jpeg"}}
                """))
    }

    @Test @LoopActor func `renews a batch and one`() async throws {
        let service = try TestService { $0.url.hasSuffix("/gone.bin") ? .error(404, "NoSuchKey") : .copied }
        let fields: HeaderFields = ["Content-Type": "Application/JSON; charset=utf-8"]
        #expect(
            await service.ask(
                "POST", "/v2/assets/renew-batch", token: try service.token(), fields: fields,
                body: #"{"assetKeys":["a.bin","gone.bin","a\/b","a.bin"]}"#) == """
                    200
                    \(Self.json)
                    \(Self.limits("renew", left: 1, "renewKeys", 1000, left: 996))

                    {"renewed":2,"failed":2,"results":[{"key":"a.bin","success":true,"expiresAt":"2027-02-14T08:00:00Z"},\
                    {"key":"gone.bin","success":false,"error":"not_found"},\
                    {"key":"a/b","success":false,"error":"invalid_key"},\
                    {"key":"a.bin","success":true,"expiresAt":"2027-02-14T08:00:00Z"}]}
                    """)
        #expect(
            await service.ask(
                "PUT", "/v2/assets/renew", token: try service.token(), fields: fields, body: #"{"assetKey":"b.bin"}"#)
                    == """
                    200
                    \(Self.json)
                    \(Self.limits("renew", left: 0, "renewKeys", 1000, left: 995))

                    {"key":"b.bin","success":true,"expiresAt":"2027-02-14T08:00:00Z"}
                    """)
        #expect(service.transport.requests.count == 3)
    }

    /// FAULTS row 18.
    @Test(arguments: [
        ("a\\r\\nx-amz-acl: public-read", "a%0D%0Ax-amz-acl%3A%20public-read"), ("a\\u0000", "a%00"),
        ("a?versionId=1", "a%3FversionId%3D1"), ("a%2Fb", "a%252Fb"), ("a+b c", "a%2Bb%20c"), ("../x//", "../x//"),
        ("e\\u0301", "e%CC%81"), ("a#b&c=d;", "a%23b%26c%3Dd%3B"), ("😀", "%F0%9F%98%80"),
    ])
    @LoopActor func `sends any key as the AWS SDKs encode it, and only where any is taken`(
        key: String, encoded: String
    ) async throws {
        for (settings, sent) in [("renewal: {keys: 'any', allowAnyOwner: true}", [encoded]), ("", [])] {
            let service = try TestService(settings) { _ in .copied }
            let answer = await service.ask(
                "POST", "/v2/assets/renew-batch", token: try service.token(),
                fields: ["Content-Type": "application/json"], body: "{\"assetKeys\":[\"\(key)\"]}")
            #expect(answer.contains(sent.isEmpty ? #""error":"invalid_key""# : #""renewed":1"#))
            let requests = service.transport.requests
            #expect(requests.map(\.url) == sent.map { "https://photos.s3.eu-central-1.amazonaws.com/\($0)" })
            #expect(requests.map { $0.fields["x-amz-copy-source"] } == sent.map { "photos/\($0)" })
        }
    }

    /// FAULTS row 23.
    @Test @LoopActor func `renews in the user's own folders alone, where the settings say so`() async throws {
        let service = try TestService("renewal: {requireOwnPrefix: true, keys: 'any'}") { _ in .copied }
        let keys = ["photos/u_1/a.jpg", "photos/u_10/a.jpg", "photos/u_1/../u_10/a.jpg", "photos/u_1/..%2fu_10/a", "a"]
        let answer = await service.ask(
            "POST", "/v2/assets/renew-batch", token: try service.token(), fields: ["Content-Type": "application/json"],
            body: "{\"assetKeys\":[\(keys.map { "\"\($0)\"" }.joined(separator: ","))]}")
        #expect(answer.contains(#""renewed":1,"failed":4,"#))
        for key in keys.dropFirst() {
            #expect(answer.contains("{\"key\":\"\(key)\",\"success\":false,\"error\":\"forbidden\"}"))
        }
        #expect(
            service.transport.requests.map(\.url) == ["https://photos.s3.eu-central-1.amazonaws.com/photos/u_1/a.jpg"])
        #expect(service.metrics.row[service.metrics.layout.renewals[.outsideFolders]] == 4)
    }

    @Test @LoopActor func `says that it is there`() async throws {
        let service = try TestService(probes: [("redis", { nil }), ("s3", { "away" })])
        #expect(await service.ask("GET", "/healthz") == "200\n\(Self.json)\n\n{\"status\":\"ok\"}")
        #expect(
            await service.ask("GET", "/readyz")
                == "503\n\(Self.json)\n\n"
                + #"{"ready":false,"redis":"not asked yet","s3":"not asked yet"}"#)
        #expect(
            await service.ask("GET", "/metrics").hasPrefix(
                "200\nContent-Type: text/plain; version=0.0.4; charset=utf-8\nCache-Control: no-store\n\n# HELP "))
    }

    @Test(arguments: [
        ("GET", "/", "404", "", "No such route", "not_found"),
        ("GET", "/healthz/", "404", "", "No such route", "not_found"),
        ("GET", "//healthz", "404", "", "No such route", "not_found"),
        ("POST", "/api/v1/auth/session", "404", "", "No such route", "not_found"),
        ("GET", "/api/v1/auth/sts-token", "405", "\nAllow: POST", "Method not allowed", "method_not_allowed"),
        ("PUT", "/healthz", "405", "\nAllow: GET, HEAD", "Method not allowed", "method_not_allowed"),
        ("HEAD", "/v1/credentials", "405", "\nAllow: GET", "Method not allowed", "method_not_allowed"),
        ("DELETE", "/v2/assets/renew", "405", "\nAllow: PUT", "Method not allowed", "method_not_allowed"),
        ("GET", "/v2/uploads/x", "405", "\nAllow: DELETE", "Method not allowed", "method_not_allowed"),
        ("POST", "/v2/uploads/x/parts", "405", "\nAllow: GET", "Method not allowed", "method_not_allowed"),
        ("POST", "/v2/uploads", "404", "", "Multipart uploads are not set up here", "not_found"),
        ("GET", "/v2/uploads/x/parts?numbers=1", "404", "", "Multipart uploads are not set up here", "not_found"),
        ("POST", "/api/v1/auth/sts-token", "401", "\nWWW-Authenticate: Bearer", "Missing auth token", "unauthorized"),
        (
            "POST", "/v2/assets/renew-batch", "415", "", "Content-Type must be application/json",
            "content_type_not_allowed"
        ),
    ])
    @LoopActor func `refuses`(
        method: String, target: String, status: String, fields: String, sentence: String, code: String
    ) async throws {
        let service = try TestService()
        #expect(
            await service.ask(method, target)
                == "\(status)\n\(Self.json)\(fields)\n\n{\"error\":\"\(sentence)\",\"code\":\"\(code)\"}")
        #expect(service.transport.requests.isEmpty)
    }

    @Test @LoopActor func `refuses a token that is none, and a body of another length`() async throws {
        let service = try TestService()
        #expect(
            await service.ask("GET", "/v1/credentials", token: "a.b.c")
                == "401\n\(Self.json)\nWWW-Authenticate: Bearer\n\n"
                + #"{"error":"Invalid auth token","code":"unauthorized"}"#)
        let invalid = "400\n\(Self.json)\n\n" + #"{"error":"Invalid request body","code":"invalid_request"}"#
        for length in ["5", "-1", "+3", "x", "99999999999999999999", "3, 3"] {
            #expect(
                await service.ask(
                    "POST", "/v2/assets/renew-batch",
                    fields: ["Content-Length": length], body: "abc") == invalid)
        }
    }

    @Test(arguments: [
        (#"{"assetKeys":[]}"#, "assetKeys must be a non-empty array"), ("{}", "assetKeys must be a non-empty array"),
        (#"{"assetKeys":"a"}"#, "assetKeys must be a non-empty array"), ("", "Invalid request body"),
        ("[]", "Invalid request body"), (#"{"assetKeys":[1]}"#, "Invalid request body"),
        (#"{"assetKeys":["a"],"assetKeys":["b"]}"#, "Invalid request body"),
        (
            "{\"assetKeys\":[\(Array(repeating: "\"a\"", count: 101).joined(separator: ","))]}",
            "Maximum 100 keys per request"
        ),
    ])
    @LoopActor func `refuses a batch word for word`(body: String, sentence: String) async throws {
        let service = try TestService()
        let answer = await service.ask(
            "POST", "/v2/assets/renew-batch", token: try service.token(), fields: ["Content-Type": "application/json"],
            body: body)
        #expect(
            answer == "400\n\(Self.json)\n\(Self.limits("renew", left: 1, "renewKeys", 1000, left: 1000))\n\n"
                + "{\"error\":\"\(sentence)\",\"code\":\"invalid_request\"}")
        #expect(service.transport.requests.isEmpty)
    }

    @Test @LoopActor func `lets nobody ask more often than they may`() async throws {
        let service = try TestService(vending: "credentialCache: {enabled: false}")
        let token = try service.token()
        for _ in 0..<2 { _ = await service.ask("POST", "/api/v1/auth/sts-token", token: token) }
        #expect(
            await service.ask("POST", "/api/v1/auth/sts-token", token: token)
                == "429\n\(Self.json)\n\(Self.limit("vend", left: 0))\nRetry-After: 3600\n\n"
                + #"{"error":"Too many credential requests","code":"too_many_requests"}"#)
        #expect(await service.ask("GET", "/v1/credentials", token: try service.token("u_2")).hasPrefix("200"))
    }

    @Test @LoopActor func `lets nobody renew more keys than they may, nor take any by asking for too many`()
        async throws
    {
        let service = try TestService("limits: {renew: {requests: 4}, renewKeys: {keys: 100}}") { _ in .copied }
        func renew(_ count: Int) async throws -> String {
            let keys = (0..<count).map { "\"k\($0)\"" }.joined(separator: ",")
            return await service.ask(
                "POST", "/v2/assets/renew-batch", token: try service.token(),
                fields: ["Content-Type": "application/json"], body: "{\"assetKeys\":[\(keys)]}")
        }
        #expect(try await renew(60).contains(#"RateLimit: "renew";r=3;t=3600, "renewKeys";r=40;t=3600"#))
        #expect(
            try await renew(41) == """
                429
                \(Self.json)
                RateLimit-Policy: "renew";q=4;w=3600, "renewKeys";q=100;w=3600;qu="keys", \
                "renewUser";q=16;w=3600, "renewKeysUser";q=400;w=3600;qu="keys"
                RateLimit: "renew";r=3;t=3600, "renewKeys";r=40;t=3600, \
                "renewUser";r=15;t=3600, "renewKeysUser";r=340;t=3600
                Retry-After: 3600

                {"error":"Too many renewal requests","code":"too_many_requests"}
                """)
        #expect(try await service.logLines().contains(#""reason":"open_refused: renewKeys""#))
        #expect(try await renew(40).contains(#"RateLimit: "renew";r=2;t=3600, "renewKeys";r=0;t=3600"#))
        #expect(service.transport.requests.count == 100)
    }

    @Test @LoopActor func `counts the bytes that an upload announces`() async throws {
        let service = try TestService()
        let target = "/v2/attachments/presigned?contentType=image%2Fjpeg&contentLength="
        #expect(
            await service.ask("GET", target + "400", token: try service.token())
                .contains(Self.limits("upload", left: 1, "uploadBytes", 1000, left: 600)))
        let refused = await service.ask("GET", target + "601", token: try service.token())
        #expect(refused.hasPrefix("429") && refused.contains("Too many bytes to upload"))
        #expect(
            await service.ask("GET", target + "600", token: try service.token())
                .contains(Self.limits("upload", left: 0, "uploadBytes", 1000, left: 0)))
    }

    @Test @LoopActor func `vends nothing without Redis where it must not`() async throws {
        let service = try TestService("")
        #expect(
            await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token())
                == "503\n\(Self.json)\nRetry-After: 1\n\n"
                + #"{"error":"Temporarily unavailable","code":"unavailable"}"#)
        #expect(service.transport.requests.isEmpty)
    }

    @Test(arguments: [
        (503, "ServiceUnavailable", "503", "\nRetry-After: 1", 2, "Temporarily unavailable", "unavailable"),
        (403, "AccessDenied", "500", "", 1, "Internal error", "internal_error"),
        (400, "PackedPolicyTooLarge", "500", "", 1, "Internal error", "internal_error"),
    ])
    @LoopActor func `tells of STS's troubles no more than whether to come back`(
        upstream: Int, code: String, status: String, fields: String, left: Int, sentence: String, word: String
    ) async throws {
        let service = try TestService { _ in .error(upstream, code) }
        #expect(
            await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token())
                == "\(status)\n\(Self.json)\(fields)\n\(Self.limit("vend", left: left))\n\n"
                + "{\"error\":\"\(sentence)\",\"code\":\"\(word)\"}")
        #expect(service.auditLines.isEmpty)
        #expect(try await service.logLines().contains("\"reason\":\"\(code)\""))
    }
}
