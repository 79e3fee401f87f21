import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

struct IAMClientTests {
    private let fake = FakeRuntime()

    private func client(_ transport: ScriptedTransport) throws -> IAMClient {
        IAMClient(
            endpoint: try .iam(region: "eu-west-1"), transport: transport,
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            runtime: fake.runtime)
    }

    @Test(arguments: [
        ("eu-west-1", "https://iam.amazonaws.com", "us-east-1"),
        ("cn-northwest-1", "https://iam.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("us-gov-east-1", "https://iam.us-gov.amazonaws.com", "us-gov-west-1"),
        ("us-iso-west-1", "https://iam.us-iso-east-1.c2s.ic.gov", "us-iso-east-1"),
        ("us-isob-east-1", "https://iam.us-isob-east-1.sc2s.sgov.gov", "us-isob-east-1"),
    ])
    func `knows the partition's one endpoint`(region: String, url: String, signingRegion: String) throws {
        let endpoint = try Endpoint.iam(region: region)
        #expect(endpoint.url == url && endpoint.signingRegion == signingRegion)
        let custom = try Endpoint.iam(region: region, custom: "http://127.0.0.1:1")
        #expect(custom.url == "http://127.0.0.1:1" && custom.signingRegion == signingRegion)
    }

    @Test func `reads a role's inline policy, which comes percent-encoded`() async throws {
        let transport = ScriptedTransport(
            .xml(
                200,
                """
                <GetRolePolicyResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><GetRolePolicyResult>\
                <PolicyName>p</PolicyName><RoleName>r</RoleName>\
                <PolicyDocument>%7B%22Version%22%3A%222012-10-17%22%7D</PolicyDocument>\
                </GetRolePolicyResult></GetRolePolicyResponse>
                """))
        #expect(
            try await client(transport).policy("p", ofRole: "r", deadline: fake.deadline())
                == #"{"Version":"2012-10-17"}"#)
        let request = try #require(transport.requests.first)
        #expect(request.method == "POST" && request.url == "https://iam.amazonaws.com/")
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == "Action=GetRolePolicy&Version=2010-05-08&RoleName=r&PolicyName=p")
        #expect(request.fields["authorization"]?.contains("/us-east-1/iam/aws4_request") == true)
    }

    @Test func `tells that there is none from not being told`() async throws {
        func error(_ status: Int, _ code: String) -> UpstreamResponse {
            .xml(status, "<ErrorResponse><Error><Type>Sender</Type><Code>\(code)</Code></Error></ErrorResponse>")
        }
        let none = ScriptedTransport(error(404, "NoSuchEntity"))
        #expect(try await client(none).policy("p", ofRole: "r", deadline: fake.deadline()) == nil)
        for answer in [error(403, "AccessDenied"), .xml(200, "<html/>"), .xml(404, "<html/>"), .xml(200, "")] {
            await #expect(throws: AWSError.self) {
                try await client(ScriptedTransport(answer)).policy("p", ofRole: "r", deadline: fake.deadline())
            }
        }
    }

    @Test func `puts a policy, and takes only IAM's own word for it`() async throws {
        let transport = ScriptedTransport(
            .xml(200, "<PutRolePolicyResponse><ResponseMetadata/></PutRolePolicyResponse>"))
        try await client(transport).put("{\"a\": 1}", as: "p", ofRole: "r", deadline: fake.deadline())
        #expect(
            String(decoding: try #require(transport.requests.first).body, as: UTF8.self)
                == "Action=PutRolePolicy&Version=2010-05-08&RoleName=r&PolicyName=p"
                + "&PolicyDocument=%7B%22a%22%3A%201%7D")
        await #expect(throws: AWSError.self) {
            try await client(ScriptedTransport(.xml(200, "<html/>")))
                .put("{}", as: "p", ofRole: "r", deadline: fake.deadline())
        }
    }
}
