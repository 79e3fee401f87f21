import Testing

@testable import Service

/// FAULTS rows 18 and 23, for keys.
struct KeyRulesTests {
    private func rules(
        _ keys: Settings.Renewal.Keys = .names, prefix: String = "", own: [String]? = nil
    ) -> KeyRules {
        KeyRules(
            Settings.Renewal(
                mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: prefix, maximumInFlight: 1,
                partialFailure: .retry, retention: .seconds(1), keys: keys, ownFolders: own))
    }

    private let user = UserID("u_1")

    @Test(arguments: [
        "a/b", " ", "a+b", "a%2Fb", "..", "../x", "a?versionId=1", "a\r\nX: y", "a\u{0}", "ä", "a\u{301}", "/a", "a//",
        String(repeating: "ä", count: 512),
    ])
    func `takes any key of S3's where it is told to`(key: String) {
        #expect(rules(.any).verdict(key, of: user) == .send(key))
        #expect(
            rules(.any, prefix: "p/").verdict(key, of: nil) == (key.utf8.count > 1022 ? .invalid : .send("p/" + key)))
        #expect(rules().verdict(key, of: user) == .invalid)
    }

    @Test(arguments: ["", String(repeating: "a", count: 1025), String(repeating: "ä", count: 513)])
    func `takes no key that S3 cannot have`(key: String) {
        #expect(rules(.any).verdict(key, of: user) == .invalid)
    }

    @Test(arguments: Settings.Renewal.Keys.allCases)
    func `takes what is in the user's own folders`(keys: Settings.Renewal.Keys) {
        let rules = rules(keys, own: ["photos/", "thumbnails/", ""])
        for key in ["photos/u_1/a.jpg", "thumbnails/u_1/a..b", "u_1/x"] {
            #expect(rules.verdict(key, of: user) == .send(key))
        }
        let behind = self.rules(keys, prefix: "photos/", own: ["photos/"])
        #expect(behind.verdict("u_1/a.jpg", of: user) == .send("photos/u_1/a.jpg"))
    }

    @Test(arguments: [
        "a.jpg", "photos/a.jpg", "photos/u_10/a.jpg", "photos/u_1", "photos/u_1a/x", "Photos/u_1/x", "photos/U_1/x",
        "/photos/u_1/x", "photos//u_1/x", "photos/u_2/../u_1/x", "./photos/u_1/x", "photos%2Fu_1/x", "photos/u_1%2fx",
        "other/u_1/x", "photos/u\u{5F}2/x", "photos/u_1\u{301}/x", "", "photos/*/x", "photos/${user}/x",
    ])
    func `takes nothing outside of them`(key: String) {
        for keys in Settings.Renewal.Keys.allCases {
            let rules = rules(keys, own: ["photos/"])
            #expect(rules.verdict(key, of: user) == .foreign)
            #expect(rules.verdict("photos/u_1/a", of: nil) == .foreign)
        }
    }

    @Test(arguments: [
        "photos/u_1/../u_2/x", "photos/u_1/..", "photos/u_1/./x", "photos/u_1/a/../../u_2/x", "photos/u_1/%2e%2E/u_2/x",
        "photos/u_1/..%2fu_2/x", "photos/u_1/..%5Cu_2", "photos/u_1/..\\u_2", "photos/u_1/a%2F..%2F..%2Fu_2",
        "photos/u_1/../\u{301}x", "photos/u_1/a%5c..%2f\u{301}x", "photos/u_1/.%2E\\\u{200D}x", "photos/u_1/\u{301}/..",
    ])
    func `takes nothing that may lead out of them`(key: String) {
        #expect(rules(.any, own: ["photos/"]).verdict(key, of: user) == .foreign)
        #expect(rules(.names, own: ["photos/"]).verdict(key, of: user) == .invalid)
    }

    @Test(arguments: ["a..b/c", "a/..b", "a/...", "%2", "a%", "%252e%252e/x", "a%2fb", "..\u{301}/x", "a//b"])
    func `takes dots and escapes that lead nowhere`(name: String) {
        let key = "photos/u_1/" + name
        #expect(rules(.any, own: ["photos/"]).verdict(key, of: user) == .send(key))
    }

    @Test func `tells keys apart by their bytes`() {
        let composed = "\u{E9}"
        let keys = DistinctKeys(["a", composed, "e\u{301}", "a", composed])
        #expect(composed == "e\u{301}")
        #expect(keys.keys.map { Array($0.utf8) } == ["a", composed, "e\u{301}"].map { Array($0.utf8) })
        #expect(keys.places == [0, 1, 2, 0, 1])
    }
}

extension KeyRules {
    fileprivate func verdict(_ key: String, of user: UserID?) -> Verdict { verdict(key, in: folders(of: user)) }
}
