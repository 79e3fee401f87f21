import CloakroomAWS
import CloakroomHTTP
import Testing

struct CORSConfigurationTests {
    private let fake = FakeRuntime()

    private static func document(_ rules: String) -> String {
        #"<CORSConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"# + rules + "</CORSConfiguration>"
    }

    private func read(_ rules: String) async throws -> CORSConfiguration {
        try await fake.s3(ScriptedTransport(.xml(200, Self.document(rules)))).cors(deadline: fake.deadline())
    }

    @Test func `reads rules, and names what it does not understand`() async throws {
        let configuration = try await read(
            """
            <CORSRule><ID>web</ID><AllowedMethod>GET</AllowedMethod><AllowedMethod>PUT</AllowedMethod>
              <AllowedOrigin>https://*.example</AllowedOrigin><AllowedOrigin>https://other.test</AllowedOrigin>
              <AllowedHeader>x-amz-*</AllowedHeader><ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>60</MaxAgeSeconds></CORSRule>
            <CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin><MaxAgeSeconds>-1</MaxAgeSeconds>
              <Moon>full</Moon></CORSRule>
            """)
        let web = configuration.rules[0]
        #expect(web.id == "web" && web.methods == ["GET", "PUT"] && web.maximumAge == 60 && web.unknown == [])
        #expect(web.permits(origin: "https://a.example") && web.permits(origin: "https://other.test"))
        #expect(!web.permits(origin: "https://example") && !web.permits(origin: "http://a.example"))
        #expect(web.permits(header: "X-Amz-Date") && !web.permits(header: "authorization") && web.exposes("etag"))
        let all = configuration.rules[1]
        #expect(all.id == "" && all.unknown == ["Moon", "MaxAgeSeconds"] && all.permits(origin: "null"))
        #expect(configuration.rule(for: "https://a.example", "PUT") == web)
        #expect(configuration.rule(for: "https://b.test", "GET") == all)
        #expect(configuration.rule(for: "https://b.test", "PUT") == nil)
    }

    @Test func `no configuration is an empty one, and nothing else is`() async throws {
        let none = ScriptedTransport(.s3Error(404, "NoSuchCORSConfiguration"))
        #expect(try await fake.s3(none).cors(deadline: fake.deadline()) == CORSConfiguration())
        for answer in [UpstreamResponse.s3Error(404, "NoSuchBucket"), .s3Error(403, "AccessDenied"), .xml(200, "<a/>")]
        {
            await #expect(throws: AWSError.self) {
                try await fake.s3(ScriptedTransport(answer)).cors(deadline: fake.deadline())
            }
        }
    }

    @Test func `puts a configuration whole, unless it changed meanwhile, and removes one without rules`() async throws {
        let former = try await read("<CORSRule><ID>other</ID><Moon>full</Moon></CORSRule>")
        let rule = CORSRule(
            id: "ours", origins: ["https://a.example"], methods: ["GET"], headers: ["*"], exposed: ["ETag"],
            maximumAge: 5)
        let there = UpstreamResponse.xml(200, Self.document("<CORSRule><ID>other</ID><Moon>full</Moon></CORSRule>"))
        let transport = ScriptedTransport(
            there, UpstreamResponse(status: 200), there, UpstreamResponse(status: 204), there)
        let s3 = try fake.s3(transport)
        try await s3.put(
            CORSConfiguration(rules: [rule] + former.rules), inPlaceOf: former, deadline: fake.deadline())
        try await s3.put(CORSConfiguration(), inPlaceOf: former, deadline: fake.deadline())
        await #expect(throws: AWSError(.refused, status: 412, code: "ChangedMeanwhile")) {
            try await s3.put(
                CORSConfiguration(), inPlaceOf: CORSConfiguration(rules: [rule]), deadline: fake.deadline())
        }
        await #expect(throws: AWSError(.refused, status: 400, code: "CORSRuleCount")) {
            try await s3.put(
                CORSConfiguration(rules: [CORSRule](repeating: rule, count: 101)), inPlaceOf: former,
                deadline: fake.deadline())
        }
        #expect(transport.requests.map(\.method) == ["GET", "PUT", "GET", "DELETE", "GET"])
        #expect(Set(transport.requests.map(\.url)) == ["https://photos.s3.eu-west-1.amazonaws.com/?cors"])
        #expect(
            String(decoding: transport.requests[1].body, as: UTF8.self)
                == Self.document(
                    "<CORSRule><ID>ours</ID><AllowedHeader>*</AllowedHeader><AllowedMethod>GET</AllowedMethod>"
                        + "<AllowedOrigin>https://a.example</AllowedOrigin><ExposeHeader>ETag</ExposeHeader>"
                        + "<MaxAgeSeconds>5</MaxAgeSeconds></CORSRule><CORSRule><ID>other</ID><Moon>full</Moon></CORSRule>"
                ))
        #expect(transport.requests[1].fields["x-amz-checksum-crc32"] != nil)
    }
}
