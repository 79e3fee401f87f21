import Foundation
import CloakroomHTTP
import Testing

@testable import CloakroomServer

struct AuditIssuanceTests {
    @Test(arguments: [
        ("192.0.2.1", true), ("2001:db8::1", true), ("::ffff:192.0.2.1", true), ("unix:", true), ("", false),
        ("127\u{7F}0.0.1", false), ("1.2.3.4\n", false), ("evil", false), (String(repeating: "1", count: 46), false),
    ])
    func `takes for the client's address only what is written as one`(text: String, isTaken: Bool) throws {
        let subject = Subject(userID: try #require(UserID("u_1")), deviceID: nil, tier: nil, issuer: "https://a")
        var request = Request(method: "GET", target: "/")
        request.peerAddress = text
        let issue = AuditLog.Issuance(
            .upload(objectKey: "k", until: Date(timeIntervalSince1970: 1)), to: subject, tier: nil, by: request)
        #expect(issue.address == (isTaken ? text : nil))
    }
}
