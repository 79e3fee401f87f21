import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct RootMatchesTests {
    private let drawn = "b0123456789abcdef0123456789abcde.bin"

    private func matches(_ members: String = "uploads: {keyPrefix: 'assets/'}", keeping kept: [String] = []) throws
        -> RootMatches
    {
        let settings = try settings(smallest(members))
        return RootMatches(try PrefixPlan(settings, keeping: kept), settings, keeping: kept)
    }

    @Test func `names folders and keys that no setting names, by the prefix that matches them`() throws {
        var matches = try matches()
        for folder in ["assets/", "backups/", "cloakroom-canary/", "exports/", "photos/", "zoo/"] {
            matches.add(folder: folder)
        }
        for key in [drawn, "b.txt", "backup\n.tar", "readme.md", "dad.jpg"] { matches.add(key: key) }
        #expect(
            matches.lines == [
                #"// NOT ONLY ASSETS are under "b": "backups/", 2 objects with other names than assets', such as "b.txt""#,
                #"// NOT ONLY ASSETS are under "d": 1 object with other names than assets', such as "dad.jpg""#,
                #"// NOT ONLY ASSETS are under "e": "exports/""#,
            ])
        #expect(!matches.isEmpty && matches.seen == 11)
    }

    @Test func `finds nothing where only assets are under the prefixes, or folders are left out`() throws {
        var plain = try matches()
        for folder in ["assets/", "photos/", "users/"] { plain.add(folder: folder) }
        plain.add(key: drawn)
        #expect(plain.isEmpty && plain.lines.count == 1)
        var kept = try matches(keeping: ["backups/"])
        kept.add(folder: "backups/")
        #expect(kept.isEmpty)
    }

    @Test func `shows the first folders of many`() throws {
        var matches = try matches()
        for number in 1...9 { matches.add(folder: "b-\(number)/") }
        #expect(
            matches.lines == [
                #"// NOT ONLY ASSETS are under "b": "b-1/", "b-2/", "b-3/", "b-4/", "b-5/", 4 more folders"#
            ])
    }

    @Test(arguments: [
        ("assets/", true), ("ass", true), ("b", true), ("ca0", true), ("assets/a", true), ("photos/", true),
        ("old/", true),
        ("backups/", false), ("b/", false), ("assets/sub/", false),
    ])
    func `assets are only where the settings name a place of them`(prefix: String, isNamed: Bool) throws {
        let settings = try settings(
            smallest("uploads: {keyPrefix: 'assets/'}, renewal: {formerPrefixes: ['old/']}"))
        #expect(settings.hasAssets(under: prefix) == isNamed)
    }
}
