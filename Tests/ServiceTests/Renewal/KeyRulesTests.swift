import Testing

@testable import CloakroomServer

/// FAULTS rows 18 and 23, for keys.
struct KeyRulesTests {
    private func rules(
        _ keys: Settings.Renewal.Keys = .names, prefix: String = "", others: [String] = [], own: [String]? = nil
    ) -> KeyRules {
        KeyRules(
            Settings.Renewal(
                mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: prefix, otherPrefixes: others,
                maximumInFlight: 1,
                partialFailure: .retry, retention: .seconds(1), keys: keys, ownFolders: own))
    }

    private let user = UserID("u_1")

    @Test(arguments: [
        "chats/a.bin", "chats/", "chats/x/y", "./chats/a.bin", "x/../chats/a.bin", "chats%2Fa.bin", "%2e/chats/a",
        "chats\\a",
        "/chats/a", "chats//a",
    ])
    func `no image of a chat is renewed`(key: String) {
        for (keys, own) in [(Settings.Renewal.Keys.any, nil), (.any, [""])] as [(Settings.Renewal.Keys, [String]?)] {
            var settings = Settings.Renewal(
                mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: "", maximumInFlight: 1,
                partialFailure: .retry, retention: .seconds(1), keys: keys, ownFolders: own)
            settings.chatKeyPrefix = "chats/"
            #expect(KeyRules(settings).decision(key, of: user) == .outsideFolders)
        }
    }

    @Test func `a name stands for the image of a chat that has it, where keys are names or any`() {
        for keys in Settings.Renewal.Keys.allCases {
            var settings = Settings.Renewal(
                mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: "assets/", maximumInFlight: 1,
                partialFailure: .retry, retention: .seconds(1), keys: keys)
            #expect(KeyRules(settings).chatKey(of: "assets/a.bin") == nil)
            settings.chatKeyPrefix = "chats/"
            let rules = KeyRules(settings)
            #expect(rules.decision("a.bin", of: user) == .send("assets/a.bin"))
            #expect(rules.chatKey(of: "assets/a.bin") == "chats/a.bin")
            #expect(
                rules.decision("chats/a.bin", of: user)
                    == (keys == .names ? .outsideFolders : .send("assets/chats/a.bin")))
        }
    }

    @Test(arguments: [
        "a/b", " ", "a+b", "a%2Fb", "..", "../x", "a?versionId=1", "a\r\nX: y", "a\u{0}", "ä", "a\u{301}", "/a", "a//",
        String(repeating: "ä", count: 512),
    ])
    func `takes any key of S3's where it is told to`(key: String) {
        #expect(rules(.any).decision(key, of: user) == .send(key))
        #expect(
            rules(.any, prefix: "p/").decision(key, of: nil) == (key.utf8.count > 1022 ? .invalid : .send("p/" + key)))
        #expect(rules().decision(key, of: user) == .invalid)
    }

    @Test(arguments: ["", String(repeating: "a", count: 1025), String(repeating: "ä", count: 513)])
    func `takes no key that S3 cannot have`(key: String) {
        #expect(rules(.any).decision(key, of: user) == .invalid)
    }

    @Test(arguments: Settings.Renewal.Keys.allCases)
    func `takes what is in the user's own folders`(keys: Settings.Renewal.Keys) {
        let rules = rules(keys, own: ["photos/", "thumbnails/", ""])
        for key in ["photos/u_1/a.jpg", "thumbnails/u_1/a..b", "u_1/x"] {
            #expect(rules.decision(key, of: user) == .send(key))
        }
        let behind = self.rules(keys, prefix: "photos/", own: ["photos/"])
        #expect(behind.decision("u_1/a.jpg", of: user) == .send("photos/u_1/a.jpg"))
    }

    @Test(arguments: [
        "a.jpg", "photos/a.jpg", "photos/u_10/a.jpg", "photos/u_1", "photos/u_1a/x", "Photos/u_1/x", "photos/U_1/x",
        "/photos/u_1/x", "photos//u_1/x", "photos/u_2/../u_1/x", "./photos/u_1/x", "photos%2Fu_1/x", "photos/u_1%2fx",
        "other/u_1/x", "photos/u\u{5F}2/x", "photos/u_1\u{301}/x", "", "photos/*/x", "photos/${user}/x",
    ])
    func `takes nothing outside of them`(key: String) {
        for keys in Settings.Renewal.Keys.allCases {
            let rules = rules(keys, own: ["photos/"])
            #expect(rules.decision(key, of: user) == .outsideFolders)
            #expect(rules.decision("photos/u_1/a", of: nil) == .outsideFolders)
        }
    }

    @Test(arguments: [
        "photos/u_1/../u_2/x", "photos/u_1/..", "photos/u_1/./x", "photos/u_1/a/../../u_2/x", "photos/u_1/%2e%2E/u_2/x",
        "photos/u_1/..%2fu_2/x", "photos/u_1/..%5Cu_2", "photos/u_1/..\\u_2", "photos/u_1/a%2F..%2F..%2Fu_2",
        "photos/u_1/../\u{301}x", "photos/u_1/a%5c..%2f\u{301}x", "photos/u_1/.%2E\\\u{200D}x", "photos/u_1/\u{301}/..",
    ])
    func `takes nothing that may lead out of them`(key: String) {
        #expect(rules(.any, own: ["photos/"]).decision(key, of: user) == .outsideFolders)
        #expect(rules(.names, own: ["photos/"]).decision(key, of: user) == .invalid)
    }

    @Test(arguments: ["a..b/c", "a/..b", "a/...", "%2", "a%", "%252e%252e/x", "a%2fb", "..\u{301}/x", "a//b"])
    func `takes dots and escapes that lead nowhere`(name: String) {
        let key = "photos/u_1/" + name
        #expect(rules(.any, own: ["photos/"]).decision(key, of: user) == .send(key))
    }

    @Test(
        arguments: [
            ("", ["assets/", "old/"], "a.bin", ["a.bin", "assets/a.bin", "old/a.bin"]),
            ("", ["assets/", "old/"], "old/a.bin", ["old/a.bin", "a.bin", "assets/a.bin"]),
            ("assets/", ["old/", ""], "a.bin", ["a.bin", "assets/a.bin", "old/a.bin"]),
            ("assets/", ["old/"], "a.bin", ["assets/a.bin", "old/a.bin"]),
            ("assets/", [], "assets/a.bin", ["assets/a.bin"]), ("assets/", [], "a.bin", ["assets/a.bin"]),
            ("a/", ["a/b/"], "a/b/x", ["a/b/x", "a/x"]), ("a/", ["a/b/"], "a/x", ["a/x", "a/b/x"]),
            ("", ["cloakroom-canary/host/"], "x", ["x"]),
        ] as [(String, [String], String, [String])])
    func `looks for a name at its literal place first, then at each other once`(
        prefix: String, others: [String], key: String, places: [String]
    ) {
        let rules = rules(prefix: prefix, others: others)
        #expect(rules.decision(key, of: user) == .send(places[0]))
        #expect(rules.others(than: places[0]) == Array(places.dropFirst()))
        for place in places {
            #expect(
                rules.prefix(of: place) + place.split(separator: "/")[place.split(separator: "/").count - 1] == place)
        }
    }

    /// "Bringing an existing bucket", in the manual.
    @Test(arguments: [
        ("keyPrefix: ''", ["a.bin", "assets/a.bin"]), ("keyPrefix: 'assets/'", ["assets/a.bin"]),
        ("keyPrefix: 'assets/', formerPrefixes: ['old/']", ["assets/a.bin", "old/a.bin"]),
        ("keyPrefix: 'assets/', formerPrefixes: ['']", ["a.bin", "assets/a.bin"]),
    ])
    func `finds a copied object first where the bucket itself is none of the places`(
        renewal: String, places: [String]
    ) throws {
        let settings = try settings(smallest("uploads: {keyPrefix: 'assets/'}, renewal: {\(renewal)}"))
        let rules = KeyRules(settings.renewal)
        #expect(rules.decision("a.bin", of: user) == .send(places[0]))
        #expect(rules.others(than: places[0]) == Array(places.dropFirst()))
        #expect(rules.decision("assets/a.bin", of: user) == .send("assets/a.bin"))
    }

    @Test(arguments: [
        "other/a", "assets//a", "/a", "assets/", "assets/a/b", "assets/.a", "Assets/a", "assets/\u{301}a",
    ])
    func `looks for nothing at a place that the settings do not name`(key: String) {
        #expect(rules(prefix: "assets/", others: ["old/"]).decision(key, of: user) == .invalid)
    }

    @Test(arguments: [Settings.Renewal.Keys.any, .names])
    func `looks at one place for keys that are more than names`(keys: Settings.Renewal.Keys) {
        let rules = rules(keys, prefix: "photos/", others: ["", "old/"], own: keys == .names ? ["photos/"] : nil)
        #expect(rules.decision("u_1/a", of: user) == .send("photos/u_1/a"))
        #expect(rules.others(than: "photos/u_1/a") == [])
        #expect(rules.prefix(of: "photos/u_1/a") == "photos/")
        #expect(rules.decision("photos/u_1/a", of: user) != .send("photos/u_1/a"))
        // Permissions are those of the innermost prefix.
        let nested = self.rules(keys, own: ["", "photos/", "photos/raw/"])
        for (key, prefix) in [("photos/raw/u_1/a", "photos/raw/"), ("photos/u_1/a", "photos/"), ("u_1/a", "")] {
            #expect(nested.prefix(of: key) == prefix)
        }
    }

    /// Canaries', the doctor's, and what renewals are tested with.
    @Test(arguments: [
        "cloakroom-canary/host/2026-11-22-keep", "cloakroom-doctor/x", "assets/cloakroom-canary/h/x",
        "assets/cloakroom-doctor/x", "cloakroom-renewal-test", "assets/cloakroom-renewal-test",
        "photos/cloakroom-doctor-1/x", "cloakroom-doctor-10/x", "a/../cloakroom-canary/x", "cloakroom-canary%2Fh/x",
        "x\\cloakroom-canary\\y", "./cloakroom-doctor/x", "cloakroom-canary//x",
    ])
    func `takes no object of our own in any mode`(key: String) {
        for others in [[], ["assets/"], ["assets/", "cloakroom-canary/h/", "cloakroom-doctor/"]] {
            #expect(rules(others: others).decision(key, of: user) == .outsideFolders)
        }
        for prefix in ["", "assets/"] {
            #expect(rules(.any, prefix: prefix).decision(key, of: user) == .outsideFolders)
            #expect(rules(.any, prefix: prefix, own: ["photos/", ""]).decision(key, of: user) == .outsideFolders)
        }
        #expect(rules(.any, own: ["photos/"]).decision(key, of: UserID("cloakroom-doctor-1")) == .outsideFolders)
        #expect(rules(prefix: "cloakroom-canary/h/").decision("x", of: user) == .outsideFolders)
    }

    @Test(arguments: ["cloakroom-canaries", "cloakroom", "cloakroom-renewal-tests", "a-cloakroom-canary"])
    func `takes what only looks like one`(key: String) {
        #expect(rules().decision(key, of: user) == .send(key))
    }

    @Test(
        arguments: [
            ("", nil), ("assets/", nil), ("cloakroom-canary", nil), ("cloakroom-canaries/", nil),
            ("cloakroom-canary/", "cloakroom-canary/"), ("a/cloakroom-doctor-1/b", "a/cloakroom-doctor-1/"),
            ("cloakroom-validation-a1/cloakroom-canary/", "cloakroom-validation-a1/"),
        ] as [(String, String?)])
    func `finds which folder of our own a prefix is in`(prefix: String, folder: String?) {
        #expect(ReservedKeys.folder(around: prefix) == folder)
    }

    @Test func `tells keys apart by their bytes`() {
        let composed = "\u{E9}"
        let keys = DistinctKeys(["a", composed, "e\u{301}", "a", composed])
        #expect(composed == "e\u{301}")
        #expect(keys.keys.map { Array($0.utf8) } == ["a", composed, "e\u{301}"].map { Array($0.utf8) })
        #expect(keys.positions == [0, 1, 2, 0, 1])
    }
}

extension KeyRules {
    fileprivate func decision(_ key: String, of user: UserID?) -> Decision { decision(key, in: folders(of: user)) }
}
