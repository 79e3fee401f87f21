import CloakroomHTTP
import CloakroomJOSE
import Foundation
import Testing

@testable import CloakroomServer

struct EventTests {
    private static let time = Date(timeIntervalSince1970: 1_800_000_000)

    private static let texts: [(kind: Event.Kind, members: String)] = [
        (
            .uploadCompleted(objectKey: "assets/a \"b\".bin"),
            #""type":"upload.completed","time":"2027-01-15T08:00:00Z","user":"u_1","keys":["assets/a \"b\".bin"]"#
        ),
        (
            .assetsRenewed(objectKeys: ["assets/a", "b"]),
            #""type":"asset.renewed","time":"2027-01-15T08:00:00Z","user":"u_1","keys":["assets/a","b"]"#
        ),
        (
            .userDisabled(reason: "operator"),
            #""type":"user.disabled","time":"2027-01-15T08:00:00Z","user":"u_1","reason":"operator""#
        ),
        (
            .userRevoked(before: time),
            #""type":"user.revoked","time":"2027-01-15T08:00:00Z","user":"u_1","before":"2027-01-15T08:00:00Z""#
        ),
        (
            .userSignedIn(deviceID: "phone"),
            #""type":"user.signed_in","time":"2027-01-15T08:00:00Z","user":"u_1","device":"phone""#
        ),
        (
            .userSignedIn(deviceID: nil),
            #""type":"user.signed_in","time":"2027-01-15T08:00:00Z","user":"u_1""#
        ),
    ]

    @Test(arguments: texts)
    func `is one JSON object`(kind: Event.Kind, members: String) {
        #expect(Event(id: "1", kind, user: "u_1", time: Self.time).text == #"{"id":"1",\#(members)}"#)
    }

    @Test func `names the request and its trace`() {
        var request = Request(method: "POST", path: "/")
        request.id = RequestID(0xABCD)
        var trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        request.trace = trace.withUTF8 { TraceContext($0.span) }
        let event = Event(id: "1", .userDisabled(reason: "r"), user: "u_1", time: Self.time, by: request)
        #expect(
            event.text == """
                {"id":"1","type":"user.disabled","time":"2027-01-15T08:00:00Z","user":"u_1",\
                "request":"000000000000abcd","trace":"4bf92f3577b34da6a3ce929d0e0e4736","reason":"r"}
                """)
    }

    @Test func `ids are of one process, and none is there twice`() {
        var numbers: [UInt64] = [1, .max]
        var ids = EventIDs { numbers.removeFirst() }
        #expect(ids.next() == "00000000000000010000000000000000")
        #expect(ids.next() == "00000000000000010000000000000001")
    }

    /// Made by: printf '%s' '1800000000.{…}' | openssl dgst -sha256 -hmac SECRET
    @Test func `the signature is that of openssl`() throws {
        let key = try #require(HMACKey(Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8)))
        let body =
            #"{"id":"0000000000000001000000000000000a","type":"user.disabled","time":"2027-01-15T08:00:00Z","#
            + #""user":"u_1","reason":"operator"}"#
        #expect(
            WebhookSignature.value(of: Array(body.utf8), at: 1_800_000_000, key: key)
                == "t=1800000000,v1=3b9abdb459a60ba55b6a9bff4573f2033b9ca60aa82a14e013fc4d0a79c61f2b")
    }

    @Test(arguments: [("1700000000123-4", 1_700_000_000_123), ("7", 7), ("", 0), ("x-1", 0)])
    func `an entry says when Redis took it`(id: String, milliseconds: Int) {
        #expect(EventStream.Entry(id: id, text: []).milliseconds == milliseconds)
    }
}
