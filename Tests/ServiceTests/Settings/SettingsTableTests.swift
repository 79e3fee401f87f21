import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct SettingsTableTests {
    @Test func `describes each key once`() {
        let paths = SettingsTable.rows.map(\.path)
        #expect(Set(paths).count == paths.count)
    }

    @Test func `has defaults that it takes itself`() {
        func check(_ rows: [SettingsRow]) {
            for row in rows {
                switch (row.kind, row.fallback) {
                case (.text(let shape), .text(let text)): #expect(shape.accepts(text), "\(row.path)")
                case (.texts(let shape), .texts(let texts)): #expect(texts.allSatisfy(shape.accepts), "\(row.path)")
                case (.integer(let range), .integer(let number)): #expect(range.contains(number), "\(row.path)")
                case (.integerOrNull(let range), .integer(let number)): #expect(range.contains(number), "\(row.path)")
                case (.choice(let names), .text(let name)): #expect(names.contains(name), "\(row.path)")
                case (.objects(let rows), _), (.named(_, let rows), _): check(rows)
                default: break
                }
            }
        }
        check(SettingsTable.rows)
    }

    /// A key may be declared in a group that no other group holds.
    @Test func `has every key that is declared`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/CloakroomServer/Settings").standardized
        let declaration = /SettingsKey\(\s*(?:(?:required|optional): )?"([^"]+)"/
        var patterns: [String] = []
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            patterns += try String(contentsOf: file, encoding: .utf8).matches(of: declaration).map { String($0.1) }
        }
        #expect(patterns.count > 100)
        let paths = Self.paths(SettingsTable.rows)
        for pattern in patterns {
            let regex = try Regex(pattern.replacing(".", with: "\\.").replacing("\\(name)", with: "[A-Za-z]+"))
            #expect(paths.contains { $0.wholeMatch(of: regex) != nil }, "\(pattern)")
        }
    }

    /// As they are declared: those within objects are relative to the object.
    private static func paths(_ rows: [SettingsRow]) -> [String] {
        rows.flatMap { row in
            switch row.kind {
            case .objects(let inner), .named(_, let inner): [row.path] + paths(inner)
            default: [row.path]
            }
        }
    }

    @Test func `has no key that nothing reads`() throws {
        let text = """
            {
              region: "eu-central-1", bucket: "photos",
              tokens: {issuers: [
                {issuer: "https://auth.example", audiences: ["a"], secret: {env: "TOKEN"}, subjects: "plain"},
                {preset: "apple", clientIDs: ["a"]},
              ]},
              session: {issuer: "https://own.example", keys: [{keyID: "1", secret: {env: "SESSION"}}]},
              vending: {
                roleARN: "arn:aws:iam::000000000000:role/session", defaultTier: "gold",
                roles: [{name: "other", stsRegion: "eu-west-1"}],
                prefixes: [""], scopes: {own: {template: "/own.json"}},
                credentialCache: {shared: {enabled: true, keys: [{env: "TOKEN"}]}},
              },
              tiers: {gold: {}}, renewal: {keys: "any", allowAnyOwner: true}, audit: {stream: "audit"},
              events: {stream: "events", webhook: {url: "https://hooks.example/", secret: {env: "TOKEN"}}},
              tracing: {endpoint: "https://collector.example"},
              uploads: {keyPrefix: "assets/", chatKeyPrefix: "chats/"}, lifecycle: {prefixes: ["assets/"]},
              release: {keys: [{env: "TOKEN"}]},
            }
            """
        let environment = ["TOKEN": "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae", "SESSION": "k3Vw9sQe7RtY1uIo5PaS8dFg2HjK4lZx"]
        var read: Set<String> = []
        _ = try Settings.load(SettingsTree.root(of: Array(text.utf8)), environment: environment) { path in
            path == "/own.json" ? Array(SettingsTests.root.utf8) : nil
        } onRead: { path in
            read.insert(
                path.replacing(/\[[0-9]+\]/, with: "[]").replacing("tiers.gold.", with: "tiers.NAME.")
                    .replacing("vending.scopes.own.", with: "vending.scopes.NAME."))
        }
        #expect(SettingsTable.wholeRows.map(\.path).filter { !read.contains($0) } == [])
    }

    @Test func `is what the manual shows`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/cloakroom/cloakroom.docc/Settings.md")
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        let parts = text.components(separatedBy: "<!-- settings -->")
        try #require(parts.count == 3, "Settings.md has the table between two markers")
        #expect(parts[1].trimmingCharacters(in: .newlines) == SettingsTable.markdown)
    }
}
