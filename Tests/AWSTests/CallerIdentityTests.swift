import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import Foundation
import Testing

/// Whose credentials sign, as STS says.
struct CallerIdentityTests {
    private let fake = FakeRuntime()

    private func client(_ transport: ScriptedTransport) throws -> STSClient {
        STSClient(
            endpoint: try .sts(region: "eu-west-1"), transport: transport,
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            runtime: fake.runtime, onAttempt: fake.onAttempt)
    }

    @Test func `says of which account the credentials are, and what time it is at STS`() async throws {
        let answer = """
            <GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>\
            <Arn>arn:aws:iam::123456789012:user/Alice</Arn><UserId>AIDACKCEVSQ6C2EXAMPLE</UserId>\
            <Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>
            """
        let transport = ScriptedTransport(.xml(200, answer, fields: ["date": "Fri, 20 Nov 2026 14:10:00 GMT"]))
        let identity = try await client(transport).callerIdentity(deadline: fake.deadline())
        #expect(identity.account == "123456789012")
        #expect(identity.time == Date(timeIntervalSince1970: 1_795_183_800))
        let sent = try #require(transport.requests.first)
        #expect(sent.method == "POST" && sent.url == "https://sts.eu-west-1.amazonaws.com/")
        #expect(String(decoding: sent.body, as: UTF8.self) == "Action=GetCallerIdentity&Version=2011-06-15")
        #expect(sent.fields["authorization"]?.contains("/20261120/eu-west-1/sts/aws4_request") == true)
        #expect(
            try await client(ScriptedTransport(.xml(200, answer))).callerIdentity(deadline: fake.deadline()).time == nil
        )
    }

    @Test(
        arguments: [
            .stsError(403, "InvalidClientTokenId"), .stsError(400, "InvalidAction"), .xml(200, "<html/>"),
            .xml(200, ""),
            .xml(200, "<GetCallerIdentityResponse/>"),
            .xml(
                200,
                "<GetCallerIdentityResponse><GetCallerIdentityResult><Account/></GetCallerIdentityResult>"
                    + "</GetCallerIdentityResponse>"),
        ] as [UpstreamResponse])
    func `takes no other response for an account`(answer: UpstreamResponse) async throws {
        await #expect(throws: AWSError.self) {
            try await client(ScriptedTransport(answer)).callerIdentity(deadline: fake.deadline())
        }
    }

    /// What is no visible ASCII could break out of a header field. In AWS's own shape, which is read past the XML reader,
    /// and in any other; in the first block of sixteen bytes, and behind it.
}
