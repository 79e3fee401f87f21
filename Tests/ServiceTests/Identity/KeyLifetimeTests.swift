import CloakroomHTTP
import Testing

@testable import CloakroomServer

struct KeyLifetimeTests {
    @Test(
        arguments: [
            ([:], 900),
            (["Cache-Control": "max-age=3600"], 3600),
            (["cache-control": "public, Max-Age=\"3600\", must-revalidate"], 3600),
            (["Cache-Control": "max-age=3600", "Age": "600"], 3000),
            (["Cache-Control": "max-age=3600", "Age": "7200"], 60),
            (["Cache-Control": "max-age=0"], 60),
            (["Cache-Control": "no-store"], 60),
            (["Cache-Control": "max-age=3600, no-cache"], 60),
            (["Cache-Control": "max-age=99999999999999999999999999"], 86_400),
            (["Cache-Control": "max-age=-1"], 900),
            (["Cache-Control": "max-age"], 900),
            (["Cache-Control": "max-age=x", "Age": "x"], 900),
            (["Cache-Control": "public", "X": "max-age=3600"], 900),
        ] as [(HeaderFields, Int)])
    func `keeps what the answer says within bounds`(fields: HeaderFields, seconds: Int) {
        #expect(KeyLifetime.seconds(fields) == seconds)
    }

    @Test func `reads every Cache-Control field`() {
        var fields: HeaderFields = ["Cache-Control": "public"]
        fields.add("Cache-Control", "max-age=120")
        #expect(KeyLifetime.seconds(fields) == 120)
    }
}

struct IssuerURLTests {
    @Test(arguments: [
        "https://a.example", "https://a.example/", "https://a.example:8443/tenant-1/v2.0", "http://127.0.0.1:8080/x",
        "http://localhost/x", "http://[::1]:80/x", "https://a.example/keys?version=2",
    ])
    func `takes https, and http to this host`(text: String) { #expect(IssuerURL(text)?.text == text) }

    @Test(arguments: [
        "http://a.example", "http://127.0.0.1.a.example/", "http://localhost.a.example", "ftp://a.example", "a.example",
        "https://user@a.example", "https://a.example/a b", "https://a.example/#x", "https://a.example\\@127.0.0.1/",
        "http://10.0.0.1/", "http://127.0.0.1:80@a.example/", "file:///etc/passwd", "",
    ])
    func `takes nothing else`(text: String) { #expect(IssuerURL(text) == nil) }
}
