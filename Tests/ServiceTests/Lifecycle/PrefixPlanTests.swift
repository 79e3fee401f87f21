import CloakroomTestSupport
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct PrefixPlanTests {
    private let digits = "0123456789abcdef".map(String.init)

    @Test func `splits a digit where a folder begins alike`() throws {
        let plan = try PrefixPlan(places: [""], users: UserFolders(["photos/", "catalogs/"]))
        #expect(
            plan.prefixes
                == digits.flatMap { first in
                    guard first == "c" else { return [first] }
                    return digits.flatMap { second in second == "a" ? digits.map { "ca\($0)" } : ["c\(second)"] }
                })
        #expect(plan.shortestName == 3)
        #expect(!plan.text(UserFolders(["photos/", "catalogs/"])).contains("NOT SO"))
    }

    @Test func `splits a digit around other folders that are to stay as well`() throws {
        let users = UserFolders(["photos/"])
        let plan = try PrefixPlan(places: [""], users: users, keeping: ["backups/"])
        #expect(plan.prefixes.contains("bb") && !plan.prefixes.contains { "backups/x".hasPrefix($0) })
        #expect(plan.text(users, keeping: ["backups/"]).contains("// backups/ is under none of the 61: checked"))
        let without = try PrefixPlan(places: [""], users: users).text(users, keeping: ["backups/"])
        #expect(without.contains("// backups/ is under none of the 16: NOT SO, b"))
    }

    @Test func `is for the places of the settings, beside each other`() throws {
        let users = UserFolders(["photos/"])
        #expect(try PrefixPlan(places: ["assets/"], users: users).prefixes == ["assets/"])
        #expect(try PrefixPlan(places: ["assets/", "assets/old/"], users: users).prefixes == ["assets/"])
        // The place of new assets is no hexadecimal name, and its rule is one of its own.
        let both = try PrefixPlan(places: ["assets/", ""], users: users).prefixes
        #expect(both.first == "assets/" && both.contains("a0") && !both.contains("a"))
        let settings = try settings(smallest("uploads: {keyPrefix: 'assets/'}"))
        #expect(try PrefixPlan(settings).prefixes == both)
    }

    @Test func `refuses places that lie in users' folders`() {
        #expect(throws: PrefixPlan.Refusal.overlapsFolders(place: "", folders: [""])) {
            try PrefixPlan(places: [""], users: UserFolders([""]))
        }
        #expect(throws: PrefixPlan.Refusal.overlapsFolders(place: "photos/new/", folders: ["photos/"])) {
            try PrefixPlan(places: ["photos/new/"], users: UserFolders(["photos/"]))
        }
    }

    @Test(arguments: ["assets/backups/", "assets/", "old/assets/images/", "old/"])
    func `refuses to keep what is in a place of assets, or has one within`(kept: String) throws {
        let users = UserFolders(["photos/"])
        let place = kept.hasPrefix("assets/") ? "assets/" : "old/assets/"
        for places in [["assets/", "old/assets/"], ["", "old/assets/", "assets/"]] {
            #expect(throws: PrefixPlan.Refusal.overlapsKept(place: place, kept: kept)) {
                try PrefixPlan(places: places, users: users, keeping: ["backups/", kept])
            }
        }
        #expect(try PrefixPlan(places: ["assets/"], users: users, keeping: ["assets2/"]).prefixes == ["assets/"])
    }

    @Test func `goes around a folder to keep byte by byte, as S3 compares`() throws {
        // One character for Swift, which is no digit; for S3 an "a" and two bytes more.
        let (kept, users) = ("a\u{301}/", UserFolders(["photos/"]))
        let plan = try PrefixPlan(places: [""], users: users, keeping: [kept])
        #expect(plan.prefixes.contains("aa") && !plan.prefixes.contains("a"))
        #expect(plan.text(users, keeping: [kept]).contains("// \(kept) is under none of the 31: checked"))
        let without = try PrefixPlan(places: [""], users: users).text(users, keeping: [kept])
        #expect(without.contains("// \(kept) is under none of the 16: NOT SO, a"))
        #expect(throws: PrefixPlan.Refusal.overlapsKept(place: "assets/", kept: "assets/\u{301}/")) {
            try PrefixPlan(places: ["assets/"], users: users, keeping: ["assets/\u{301}/"])
        }
    }

    @Test(arguments: SeededGenerator.freshSeeds)
    func `is one rule for each hexadecimal name, and none for a key in a folder`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let folders = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                generator.text(of: "0af9cz_", 1...4) + "/"
            }
            let users = UserFolders(folders)
            let plan = try PrefixPlan(places: [""], users: users)
            for _ in 0..<50 {
                let length = plan.shortestName + 2
                let name = generator.text(of: "0123456789abcdef", length...length)
                #expect(plan.prefixes.count(where: name.hasPrefix) == 1, "\(folders) \(name)")
            }
            for folder in folders {
                #expect(!plan.prefixes.contains { "\(folder)u_1/a.jpg".hasPrefix($0) }, "\(folders) \(plan.prefixes)")
            }
            // The settings take what is printed.
            let list = plan.prefixes.map { "'\($0)'" }.joined(separator: ", ")
            #expect(throws: Never.self) { try settings(smallest("lifecycle: {prefixes: [\(list)]}")) }
        }
    }
}
