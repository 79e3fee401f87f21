import Testing

@testable import CloakroomServer

struct WebSettingsTests {
    private func faults(_ origins: String) -> [String] { settingsFaults(smallest("web: {origins: \(origins)}")) }

    @Test func `no page may call unless it is listed`() throws {
        #expect(try settings(smallest()).web.origins == [])
        #expect(try settings(smallest("web: {origins: []}")).web.origins == [])
    }

    @Test(arguments: [
        "https://app.example", "https://xn--bcher-kva.example:8443", "http://localhost", "http://localhost:3000",
        "http://127.0.0.1:5173", "http://[::1]:8080", "https://[2001:db8::1]", "https://192.0.2.1",
    ])
    func `takes origins as browsers send them`(origin: String) throws {
        #expect(try settings(smallest("web: {origins: ['\(origin)']}")).web.origins == [origin])
    }

    /// What no browser sends would never match; the rest would let in more than one page.
    @Test(arguments: [
        "null", "*", "https://*", "https://*.example", "https://app.example/", "https://app.example/path",
        "https://app.example?", "https://App.example", "HTTPS://app.example", "https://app.example:443",
        "http://localhost:80", "https://app.example:08443", "https://app.example:0", "https://app.example:65536",
        "https://app.example:", "https://app.example.", "https://.example", "https://app..example",
        "https://user@app.example", "app.example", "//app.example", "ftp://app.example", "http://app.example",
        "http://127.0.0.2", "http://10.0.0.1", "http://localhost.example", "capacitor://localhost", "",
        "https://bücher.example", "https://app.example https://other.example", "https://app.example$",
        "https://127.1", "https://0x7f.0.0.1", "https://192.0.2.01", "https://192.0.2.1.5", "https://[::0001]",
        "https://[0:0:0:0:0:0:0:1]", "https://[2001:DB8::1]",
    ])
    func `refuses all else`(origin: String) {
        let faults = faults("['https://app.example', '\(origin)']")
        #expect(faults.count == 1 && faults[0].hasPrefix("web.origins[1]: is \""), "\(faults)")
    }

    @Test func `Companion's wire takes a key for its ids`() throws {
        #expect(try !settings(smallest()).web.companion)
        let keys = #"uploads: {idKeys: [{env: "SIGNING"}]}"#
        #expect(try settings(smallest("web: {companion: true}, \(keys)")).web.companion)
        #expect(
            settingsFaults(smallest("web: {companion: true}")) == [
                "web.companion: is true without uploads.idKeys, which the ids of its uploads are sealed with; give"
                    + " uploads.idKeys a secret made with: openssl rand -base64 32"
            ])
    }

    @Test func `takes 64 at most, none twice`() {
        let many = (1...65).map { "'https://\($0).example'" }
        #expect(faults("[\(many.dropLast().joined(separator: ","))]") == [])
        #expect(faults("[\(many.joined(separator: ","))]") == ["web.origins: has 65 origins; give 64 at most"])
        #expect(
            faults("['https://a.example', 'https://b.example', 'https://a.example']")
                == ["web.origins: has https://a.example twice; take one of them out"])
    }
}
