import CloakroomJSON
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

/// No user id may give write access to what belongs to others, whatever the prefixes are.
struct PrefixOverlapsTests {
    private static let components = ["a", "b", "ab", "assets", "photos", "u_1", "a.b", "cloakroom-canary", "0"]

    private static func prefix(_ levels: ClosedRange<Int>, using generator: inout SeededGenerator) -> String {
        (0..<Int.random(in: levels, using: &generator)).map { _ in components.randomElement(using: &generator) ?? "a" }
            .joined(separator: "/")
    }

    private static func ended(_ prefix: String) -> String { prefix.isEmpty ? "" : prefix + "/" }

    /// What IAM would say, found the plain way: each action and each pattern, character by character.
    private static func mayWrite(_ key: String, _ policy: JSON) -> Bool {
        let statements = policy.object?["Statement"]?.array ?? []
        return statements.contains { statement in
            let actions = texts(statement.object?["Action"])
            return actions.contains("s3:PutObject")
                && texts(statement.object?["Resource"]).contains {
                    fits(Array("arn:aws:s3:::bucket/\(key)")[...], Array($0)[...])
                }
        }
    }

    private static func texts(_ json: JSON?) -> [String] { json?.string.map { [$0] } ?? json?.strings ?? [] }

    private static func fits(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return fits(text, pattern.dropFirst()) || !text.isEmpty && fits(text.dropFirst(), pattern)
        }
        return !text.isEmpty && (first == "?" || first == text.first) && fits(text.dropFirst(), pattern.dropFirst())
    }

    @Test func `a rule over prefixes and ids that agrees with the policies themselves`() throws {
        var generator = SeededGenerator(seed: 4)
        var (refused, held, reservedSeen) = (0, 0, 0)
        for _ in 0..<600 {
            let names = Set(
                (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                    Self.prefix(0...2, using: &generator)
                }
            ).sorted()
            let template = PolicyTemplate(bucket: "bucket", partition: "aws")
            // Folders of users within folders of users are refused by the scopes.
            guard let scopes = try? Scopes(template, prefixes: names, templates: []), let full = scopes["full"] else {
                continue
            }
            let others = (0..<3).map { number in
                // Often within one of the folders, where alone they can meet.
                let beginning = Bool.random(using: &generator) ? names.randomElement(using: &generator) ?? "" : ""
                return AssetPrefix(
                    prefix: Self.ended(beginning) + Self.ended(Self.prefix(0...3, using: &generator)),
                    setting: "other.\(number)")
            }
            let overlaps = PrefixOverlaps(folders: names.map(PrefixOverlaps.folder), others: others).overlaps
            let reserved = ReservedUserIDs(overlaps)
            let isFault = overlaps.contains { !$0.folder.prefix.isEmpty }
            let ids = Self.components.compactMap(UserID.init) + [try #require(UserID("u_2"))]
            for id in ids where !reserved.contains(id) {
                let policy = try JSON(parsing: Array(full.policy.text(for: id).utf8))
                // Assets; canaries and the doctor's objects wherever they may lie; other users' objects.
                let keys =
                    others.flatMap { other in
                        ["0a1b.bin", "cloakroom-canary/h/1", "cloakroom-doctor/1"].map { other.prefix + $0 }
                    }
                    + names.flatMap { name in
                        ids.filter { $0 != id }.map { "\(Self.ended(name))\($0.text)/x.jpg" }
                    }
                let written = keys.filter { Self.mayWrite($0, policy) }
                if isFault {
                    // The rule may not refuse more than it has to, either.
                    let named = overlaps.filter { $0.id == id && !$0.folder.prefix.isEmpty }
                    #expect(named.allSatisfy { Self.mayWrite($0.other.prefix + "0a1b.bin", policy) })
                    refused += named.count
                } else {
                    #expect(written.isEmpty, "\(names) \(others.map(\.prefix)) \(id.text): \(written)")
                    held += 1
                }
            }
            for component in reserved.components where !component.id.hasPrefix(ReservedUserIDs.ownPrefix) {
                let id = try #require(UserID(component.id))
                let policy = try JSON(parsing: Array(full.policy.text(for: id).utf8))
                #expect(others.contains { Self.mayWrite($0.prefix + "0a1b.bin", policy) })
                reservedSeen += 1
            }
        }
        // What was tried has all three outcomes.
        #expect(refused > 100)
        #expect(held > 1000)
        #expect(reservedSeen > 100)
    }

    @Test func `names both settings and the id`() throws {
        let settings = try settings(
            smallest(
                "uploads: {keyPrefix: 'assets/'}, renewal: {keyPrefix: 'assets/', formerPrefixes: ['old/x/']}",
                vending: "prefixes: ['']"))
        #expect(
            settings.reservedUserIDs.components == [
                .init(id: "assets", setting: "uploads.keyPrefix"), .init(id: "old", setting: "renewal.formerPrefixes"),
            ])
        #expect(settings.reservedUserIDs.contains(try #require(UserID("assets"))))
        #expect(settings.reservedUserIDs.contains(try #require(UserID("cloakroom-doctor-1"))))
        #expect(!settings.reservedUserIDs.contains(try #require(UserID("assets2"))))
    }

    /// Users' folders beside everything else: nobody is refused but who has the name of Cloakroom's own.
    @Test func `reserves no id with the standard prefixes`() throws {
        let reserved = try settings(smallest("uploads: {keyPrefix: 'assets/'}")).reservedUserIDs
        #expect(reserved.components.isEmpty)
        #expect(!reserved.contains(try #require(UserID("assets"))))
        #expect(reserved.contains(try #require(UserID("cloakroom-canary"))))
    }
}
