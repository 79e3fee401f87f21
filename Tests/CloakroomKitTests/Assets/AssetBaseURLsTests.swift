import Foundation
import Testing

@testable import CloakroomKit

@Suite struct AssetBaseURLsTests {
    private let baseURLs: AssetBaseURLs

    init() throws {
        baseURLs = try AssetBaseURLs(
            [
                "https://cdn.example.com", "http://127.0.0.1:8333/bucket/", "https://s3.example.com/my%20bucket",
                "https://s3.example.com/my%20bucket/deeper", "https://xn--bcher-kva.example/",
            ].map { try #require(URL(string: $0)) })
    }

    @Test(arguments: [
        ("https://cdn.example.com/abc123.bin", "abc123.bin"),
        ("https://cdn.example.com/abc123.bin?X-Amz-Signature=1&x=/y#z", "abc123.bin"),
        ("https://cdn.example.com/abc.bin#a?b", "abc.bin"),
        ("HTTPS://CDN.Example.COM:443/a/B.bin", "a/B.bin"),
        ("https://cdn.example.com:/a.bin", "a.bin"),
        ("https://cdn.example.com/a%2Fb%20c.bin", "a/b c.bin"),
        ("https://cdn.example.com/%252e%252e/a", "%2e%2e/a"),
        ("https://cdn.example.com/a+b%2Bc", "a+b+c"),
        ("https://cdn.example.com//a//b/", "/a//b/"),
        ("https://cdn.example.com/na%C3%AFve", "naïve"),
        ("https://cdn.example.com/a%00b%0D%0A", "a\u{0}b\r\n"),
        ("https://cdn.example.com/a;b=c,d@e:f", "a;b=c,d@e:f"),
        ("http://127.0.0.1:8333/bucket/a", "a"),
        ("https://s3.example.com/my%20bucket/a", "a"),
        ("https://s3.example.com/my%20bucket/deeper/a", "a"),
        ("https://s3.example.com/my%20bucket/deep", "deep"),
        ("https://xn--bcher-kva.example/a", "a"),
        ("https://bücher.example/a", "a"),
    ])
    func `a URL is a key, percent-decoded once`(url: String, key: String) throws {
        let url = try #require(URL(string: url))
        #expect(baseURLs.match(of: url) == .key(AssetKey(key)))
        #expect(RenewableAsset.groupImage(url: url, conversationID: "c").key(in: baseURLs) == key)
    }

    @Test(arguments: [
        "https://evil.example/abc.bin", "http://cdn.example.com/abc.bin", "https://cdn.example.com:8443/abc.bin",
        "https://cdn.example.com.evil.example/a", "https://user@cdn.example.com/a", "https://cdn.example.com@evil/a",
        "http://127.0.0.1:8333/other/a", "http://127.0.0.1:8333/bucketful/a", "http://127.0.0.1:8333/bucket",
        "http://127.0.0.1/bucket/a", "file:///abc.bin", "abc.bin", "//cdn.example.com/a", "https:cdn.example.com/a",
        "data:,a", "https://cdn.example.com:99999/a",
    ])
    func `a URL outside the base URLs has no key`(url: String) throws {
        let url = try #require(URL(string: url))
        #expect(baseURLs.match(of: url) == .outsideBaseURLs)
        #expect(RenewableAsset.groupImage(url: url, conversationID: "c").key(in: baseURLs) == nil)
    }

    @Test(arguments: [
        "https://cdn.example.com/a%FF", "https://cdn.example.com/%C3", "https://cdn.example.com/%ED%A0%80",
        "https://cdn.example.com/", "https://cdn.example.com/?a", "http://127.0.0.1:8333/bucket/",
        "https://cdn.example.com/\(String(repeating: "k", count: 1_025))",
    ])
    func `what is no object of ours has no key`(url: String) throws {
        #expect(baseURLs.match(of: try #require(URL(string: url))) == .noKey)
    }

    @Test func `a key may have 1,024 bytes`() throws {
        let key = String(repeating: "é", count: 512)
        let escaped = String(repeating: "%c3%a9", count: 512)
        let url = try #require(URL(string: "https://cdn.example.com/" + escaped))
        #expect(baseURLs.match(of: url) == .key(AssetKey(key)))
    }

    @Test func `keys that look alike are two`() throws {
        let composed = try #require(URL(string: "https://cdn.example.com/%C3%A9"))
        let decomposed = try #require(URL(string: "https://cdn.example.com/e%CC%81"))
        #expect(baseURLs.match(of: composed) != baseURLs.match(of: decomposed))
        #expect(Set([AssetKey("\u{e9}"), AssetKey("e\u{301}")]).count == 2)
    }

    @Test(arguments: ["cdn.example.com", "/a", "ftp://cdn.example.com", "https:///a", "https://u:p@cdn.example.com"])
    func `what cannot be a base is refused`(base: String) throws {
        let url = try #require(URL(string: base))
        #expect(throws: CloakroomError(.invalidRequest, "\(base) cannot be the base of an asset's URL")) {
            try AssetBaseURLs([url])
        }
    }
}
