import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import Foundation
import Testing

struct ClockDifferenceTests {
    private static let theirs = Date(timeIntervalSince1970: 1_795_183_200)

    /// By how many seconds ours is ahead when the request is sent and when the response is there.
    private func difference(sent: Double, received: Double) -> ClockDifference? {
        ClockDifference(theirs: Self.theirs, sent: Self.theirs + sent, received: Self.theirs + received)
    }

    @Test(
        arguments: [(0, 0, 0), (-2, 3, 0), (0.5, 0.9, 0), (-360, -358, 358), (600, 602, -599)]
            as [(Double, Double, Double)])
    func `is certain beyond what the exchange took and the second that a server rounds down`(
        sent: Double, received: Double, certain: Double
    ) throws {
        #expect(try #require(difference(sent: sent, received: received)).certain == certain)
    }

    @Test func `nothing is known where our clock was set back during the exchange`() {
        #expect(difference(sent: 1, received: 0) == nil)
    }

    @Test func `differs where the ranges are further apart than that`() throws {
        let (behind, ahead) = (
            try #require(difference(sent: -10, received: -8)), try #require(difference(sent: 5, received: 6))
        )
        #expect(behind.differs(from: .zero, by: 7) && !behind.differs(from: .zero, by: 8))
        #expect(ahead.differs(from: .zero, by: 3) && !ahead.differs(from: .zero, by: 4))
        #expect(behind.differs(from: ahead, by: 11) && ahead.differs(from: behind, by: 11))
        #expect(!behind.differs(from: behind, by: 0))
    }

    /// The session is of 3,600 seconds from 14:00:00 on.
    @Test(
        arguments: [
            (0, nil, 0), (0, "Fri, 20 Nov 2026 14:00:04 GMT", 0), (-360, "Fri, 20 Nov 2026 14:00:00 GMT", 360),
            (600, "Fri, 20 Nov 2026 14:00:00 GMT", -599), (0, "Fri, 20 Nov 2026 14:00:06 GMT", nil),
        ] as [(Double, String?, Double?)])
    func `an STS client knows it where the session's end and the date agree`(
        ours: Double, date: String?, certain: Double?
    ) async throws {
        var fields: HeaderFields = [:]
        if let date { fields.add("Date", date) }
        let transport = ScriptedTransport(
            UpstreamResponse(status: 200, fields: fields, body: UpstreamDocuments.assumed))
        let fake = FakeRuntime(time: 1_795_183_200 + Int(ours))
        let client = STSClient(
            endpoint: try .sts(region: "eu-west-1"), transport: transport,
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            runtime: fake.runtime)
        #expect(await client.clockDifference == nil)
        let request = AssumeRole(
            roleARN: "arn:aws:iam::123456789012:role/vending", sessionName: "u_1-t3kf0w", duration: .seconds(3600),
            policy: .init("{}"), tags: [], externalID: nil)
        _ = try await client.assumeRole(request, deadline: fake.deadline())
        #expect(await client.clockDifference?.certain == certain)
    }
}
