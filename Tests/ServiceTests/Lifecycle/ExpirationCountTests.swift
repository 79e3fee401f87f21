import CloakroomAWS
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct ExpirationCountTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func ago(_ days: Double) -> Date { now.addingTimeInterval(-days * 86_400) }

    private func rules(_ terms: LifecycleTerms, _ versioning: BucketVersioning = .never) -> LifecycleConfiguration {
        LifecycleConfiguration(rules: terms.rules(versioning))
    }

    private func count(_ former: [LifecycleRule], _ target: [LifecycleRule]) -> ExpirationCount {
        ExpirationCount(from: .init(rules: former), to: .init(rules: target), now: now)
    }

    @Test func `a first rule removes what is old at once, and the rest later`() {
        var count = ExpirationCount(
            from: .init(), to: rules(LifecycleTerms(prefixes: ["assets/"], retentionDays: 30)), now: now)
        for (key, days) in [("assets/a", 40.0), ("assets/b", 31), ("assets/c", 10), ("photos/u_1/a", 400)] {
            count.object(key, size: 10, written: ago(days))
        }
        #expect(count.objects.atOnce.count == 2 && count.objects.atOnce.bytes == 20)
        #expect(count.objects.atOnce.oldest?.key == "assets/a")
        #expect(count.objects.later.count == 1 && count.objects.ceasing.count == 0 && count.seen == 4)
    }

    @Test func `what a listing tells no size or time of is counted apart`() {
        var count = count([], LifecycleTerms(prefixes: ["assets/"], retentionDays: 30).rules(.enabled))
        count.object("assets/a", size: nil, written: ago(40))
        count.object("assets/b", size: 1, written: nil)
        count.version("assets/c", size: nil, written: ago(40), isLatest: true, isDeleteMarker: false)
        count.version("assets/c", size: 1, written: nil, isLatest: false, isDeleteMarker: false)
        #expect(count.unreadable.count == 4 && count.unreadable.example == "assets/a" && count.seen == 4)
        #expect(count.objects == ExpirationCount.Changes() && count.versions == ExpirationCount.Changes())
    }

    @Test func `what goes later is counted by the rule that lets it expire first, with the first expiration`() {
        var count = ExpirationCount(
            from: .init(), to: rules(LifecycleTerms(prefixes: ["assets/", "backups/"], retentionDays: 30)), now: now)
        for (key, days) in [("assets/a", 10.0), ("backups/b", 20), ("backups/c", 25), ("backups/old", 60)] {
            count.object(key, size: 10, written: ago(days))
        }
        let later = count.objects.laterByPrefix
        #expect(count.objects.later.count == 3 && later.keys.sorted() == ["assets/", "backups/"])
        #expect(later["backups/"]?.count == 2 && later["backups/"]?.bytes == 20)
        #expect(later["backups/"]?.oldest?.key == "backups/c")
        // Written at 08:00 25 days ago: at midnight after 30 days.
        #expect(later["backups/"]?.firstEnd == Date(timeIntervalSince1970: 1_800_000_000 + 5 * 86_400 + 16 * 3600))
        // The earlier end counts, whatever the order of the rules.
        var two = self.count(
            [], [.test("all", days: 60)] + LifecycleTerms(prefixes: ["a"], retentionDays: 30).rules(.never))
        two.object("a", size: 1, written: ago(1))
        #expect(two.objects.laterByPrefix.keys.sorted() == ["a"])
    }

    @Test func `objects that are no assets are counted apart under a rule for names in the bucket itself`() throws {
        let drawn = "b0123456789abcdef0123456789abcde.bin"
        let keys = [
            (drawn, 20.0), ("b0123456789abcdef0123456789abcde/part", 3), ("backups/db-1.sql", 10),
            ("backups/db-0.sql", 40), ("b.txt", 5), ("assets/other.txt", 6), ("photos/u_1/a", 6),
        ]
        func others(_ members: String, _ prefixes: [String]) throws -> ExpirationCount.Tally {
            let settings = try settings(smallest(members))
            var count = ExpirationCount(
                from: .init(), to: rules(LifecycleTerms(prefixes: prefixes, retentionDays: 30)), now: now,
                others: OtherObjects(settings))
            for (key, days) in keys { count.object(key, size: 10, written: ago(days)) }
            return count.objects.others
        }
        let root = "uploads: {keyPrefix: 'assets/'}, renewal: {keyPrefix: ''}"
        let found = try others(root, ["assets/", "b"])
        #expect(found.count == 4 && found.bytes == 40 && found.oldest?.key == "backups/db-0.sql")
        #expect(try others(root, [""]).count == 4)
        #expect(try others(root, ["assets/", "backups/", "b0"]).count == 1)
        #expect(try others(root, ["assets/", "backups/"]).count == 0)
    }

    @Test func `what goes at the next midnight goes at once`() {
        var count = count([], LifecycleTerms(retentionDays: 30).rules(.never))
        count.object("a", size: 1, written: ago(30))
        count.object("b", size: 1, written: ago(28.9))
        #expect(count.objects.atOnce.count == 1 && count.objects.later.count == 1)
    }

    @Test func `a rule that is there already removes nothing newly`() {
        let terms = LifecycleTerms(retentionDays: 30)
        var same = count([.test("theirs")], terms.rules(.never))
        same.object("a", size: 1, written: ago(40))
        same.object("b", size: 1, written: ago(10))
        #expect(same.objects == ExpirationCount.Changes())
        // Fewer days than before: the old ones go now, the young ones earlier.
        var shorter = count([.test("theirs", days: 60)], terms.rules(.never))
        shorter.object("a", size: 1, written: ago(40))
        shorter.object("b", size: 1, written: ago(10))
        #expect(shorter.objects.atOnce.count == 1 && shorter.objects.later.count == 1)
        // More days: nothing ceases to expire, nor expires newly.
        var longer = count([.test("theirs", days: 7)], terms.rules(.never))
        longer.object("a", size: 1, written: ago(5))
        #expect(longer.objects == ExpirationCount.Changes())
    }

    @Test func `a narrower rule lets others stay`() {
        var count = count(
            [.test("expire-after-30-days")], LifecycleTerms(prefixes: ["assets/"], retentionDays: 30).rules(.never))
        count.object("assets/a", size: 1, written: ago(10))
        count.object("photos/u_1/b", size: 5, written: ago(10))
        count.object("c.bin", size: 7, written: ago(20))
        #expect(count.objects.ceasing.count == 2 && count.objects.ceasing.bytes == 12)
        #expect(count.objects.ceasing.oldest?.key == "c.bin")
        #expect(count.objects.atOnce.count == 0 && count.objects.later.count == 0)
    }

    @Test func `conditions that no listing tells count for a change`() {
        let tag = XMLNode("Tag", [XMLNode("Key", "k"), XMLNode("Value", "v")])
        let tagged = LifecycleRule.test("tagged", filter: [tag])
        var before = count([tagged], LifecycleTerms(retentionDays: 30).rules(.never))
        before.object("a", size: 1, written: ago(40))
        #expect(before.objects.atOnce.count == 1 && before.objects.ceasing.count == 0)
        var after = count([.test("all")], [tagged])
        after.object("a", size: 1, written: ago(10))
        #expect(after.objects.ceasing.count == 1)
        var none = count([tagged], [])
        none.object("a", size: 1, written: ago(10))
        #expect(none.objects.ceasing.count == 1)
        let large = LifecycleRule.test("large", filter: [XMLNode("ObjectSizeGreaterThan", "100")])
        var sizes = count([], [large])
        for size in [100, 101] { sizes.object("a\(size)", size: size, written: ago(40)) }
        #expect(sizes.objects.atOnce.oldest?.key == "a101" && sizes.objects.atOnce.count == 1)
        let small = LifecycleRule.test("small", filter: [XMLNode("ObjectSizeLessThan", "100")])
        var less = count([.test("all")], [small])
        for size in [99, 100] { less.object("a\(size)", size: size, written: ago(40)) }
        #expect(less.objects.ceasing.oldest?.key == "a100" && less.objects.ceasing.count == 1)
        let date = XMLNode("Expiration", [XMLNode("Date", "2020-01-01T00:00:00.000Z")])
        var dated = count([], [.test("dated", expiration: date)])
        dated.object("a", size: 1, written: ago(1))
        #expect(dated.objects.atOnce.count == 1)
    }

    @Test func `older versions count from when another took their place`() {
        let terms = LifecycleTerms(prefixes: ["assets/"], retentionDays: 30, noncurrentDays: 7)
        var count = count([], terms.rules(.enabled))
        for (key, latest, marker, days) in [
            ("assets/a", true, false, 1.0), ("assets/a", false, false, 100), ("assets/a", false, false, 200),
            ("assets/b", true, true, 20), ("assets/b", false, false, 21),
            // Another key's version is no newer version of this one.
            ("assets/c", false, false, 2),
            ("photos/u_1/a", true, false, 1), ("photos/u_1/a", false, false, 300),
        ] {
            count.version(key, size: 3, written: ago(days), isLatest: latest, isDeleteMarker: marker)
        }
        // a's first was replaced a hundred days ago, b's was deleted twenty days ago.
        #expect(count.versions.atOnce.count == 2 && count.versions.later.count == 2)
        #expect(count.versions.atOnce.oldest?.key == "assets/a")
        #expect(count.objects.later.count == 1 && count.seen == 7)
    }

    @Test func `a key that is equal to Swift, and not by its bytes, is another one`() {
        let terms = LifecycleTerms(prefixes: ["assets/"], retentionDays: 30, noncurrentDays: 7)
        var count = count([], terms.rules(.enabled))
        count.version("assets/e\u{301}", size: 3, written: ago(1), isLatest: true, isDeleteMarker: false)
        count.version("assets/\u{e9}", size: 3, written: ago(100), isLatest: false, isDeleteMarker: false)
        #expect(count.versions.atOnce.count == 1 && count.versions.later.count == 0)
    }

    @Test func `only prefixes of rules that change are listed`() {
        let terms = LifecycleTerms(prefixes: ["assets/", "ca0"], retentionDays: 30)
        func prefixes(_ rules: [LifecycleRule]) -> [String] {
            ExpirationCount.prefixes(
                of: LifecyclePlan(LifecycleConfiguration(rules: rules), .never, terms, replacesAll: false))
        }
        #expect(prefixes([]) == ["assets/", "ca0"])
        #expect(prefixes([.test("expire-after-30-days")]) == [""])
        #expect(prefixes(Array(terms.rules(.never).prefix(1))) == ["ca0"])
        #expect(prefixes(terms.rules(.never)) == [])
        // Older versions are deleted without an expiration of objects, too.
        let markers = XMLNode("Expiration", [XMLNode("ExpiredObjectDeleteMarker", "true")])
        let versions = XMLNode("NoncurrentVersionExpiration", [XMLNode("NoncurrentDays", "90")])
        let former = LifecycleRule.test(
            "clean-up", filter: [XMLNode("Prefix", "photos/")], expiration: markers, more: [versions])
        #expect(prefixes([former] + terms.rules(.never)) == ["photos/"])
    }
}
