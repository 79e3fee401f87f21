import CloakroomHTTP
import Testing

struct UpstreamRequestTests {
    @Test(arguments: [
        ("https://a.example/b/../c%2e?d=e&f", "https://a.example", "/b/../c%2e?d=e&f"),
        ("http://127.0.0.1:80", "http://127.0.0.1:80", "/"), ("http://[::1]:80?a=/b", "http://[::1]:80", "/?a=/b"),
        ("https://a/b#c?d", "https://a", "/b"), ("https://a#/b", "https://a", "/"),
        ("https://a/?b#", "https://a", "/?b"),
    ])
    func `divides a URL into origin and target`(url: String, origin: String, target: String) {
        let request = UpstreamRequest(method: "GET", url: url)
        #expect(request.origin == origin && request.target == target)
    }

    @Test(arguments: ["", "photos", "/photos?a", "a:b"]) func `finds no origin in what is no absolute URL`(text: String)
    {
        #expect(text.originAndTarget == nil)
    }
}
