import Testing

@testable import CloakroomServer

struct UserIDTests {
    @Test(arguments: ["u_1", "A-z_09", String(repeating: "x", count: 64)])
    func `takes a safe subject as it is`(subject: String) {
        #expect(UserID(issuer: "https://a.example", subject: subject).text == subject)
    }

    @Test(arguments: [
        "", "a b", "u_1/../u_2", "*", "?", "${aws:username}", "\"", "é", "\u{212A}", "a\u{0}", "a.b",

        "001999.3f2b.1644",
        String(repeating: "x", count: 65), "u_1\n",
    ])
    func `maps any other subject to a UUID`(subject: String) {
        #expect(UserID(subject) == nil)
        let id = UserID(issuer: "https://a.example", subject: subject)
        #expect(id.text.wholeMatch(of: /u_[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        #expect(id == UserID(issuer: "https://a.example", subject: subject))
        #expect(id != UserID(issuer: "https://b.example", subject: subject))
    }

    @Test func `maps a subject that looks mapped, but no UUID of another kind`() {
        let mapped = UserID(issuer: "https://a.example", subject: "victim@example")
        #expect(UserID(issuer: "https://a.example", subject: mapped.text) != mapped)
        let random = "u_3fa85f64-5717-4562-b3fc-2c963f66afa6"
        #expect(UserID(issuer: "https://a.example", subject: random).text == random)
    }

    @Test func `makes the UUIDs of RFC 9562`() {
        // RFC 9562 A.4: the DNS name space and www.example.com.
        let dns = NameBasedUUID(bytes: [0x6b, 0xa7, 0xb8, 0x10] + NameBasedUUID.urls.bytes.dropFirst(4))
        #expect("\(NameBasedUUID("www.example.com", in: dns))" == "2ed6657d-e927-568b-95e1-2665a8aea6a2")
    }
}
