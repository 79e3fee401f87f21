import Foundation
import Testing

@testable import CloakroomWire

struct SessionBodiesTests {
    @Test(arguments: [
        SessionRequest(), SessionRequest(identityToken: "a.b.c"), SessionRequest(deviceId: "phone"),
        SessionRequest(identityToken: "a.b.c", nonce: "raw \"é\"", deviceId: "phone"),
    ])
    func `a request is read as it was written`(request: SessionRequest) {
        #expect(SessionRequest(parsing: request.encoded) == request)
    }

    @Test func `a session is read as it was written, and prints no token`() throws {
        let body = SessionBody(
            token: "h.p.s", expiresAt: Date(timeIntervalSince1970: 1_800_000_000), userId: "u_1")
        #expect(try wireDecoder.decode(SessionBody.self, from: Data(body.encoded)) == body)
        #expect(
            String(decoding: body.encoded, as: UTF8.self)
                == #"{"token":"h.p.s","expiresAt":"2027-01-15T08:00:00Z","userId":"u_1"}"#)
        var printed = "\(body) \(SessionRequest(identityToken: "h.p.s", nonce: "n0nce"))"
        dump(body, to: &printed)
        dump(SessionRequest(identityToken: "h.p.s", nonce: "n0nce"), to: &printed)
        #expect(!printed.contains("h.p.s") && !printed.contains("n0nce"))
    }
}
