import AWS
import Foundation
import Service
import Testing

struct LifecyclePlanTests {
    private let terms = LifecycleTerms(retentionDays: 30)

    /// Each rule by its ID, with the sign of what becomes of it.
    private func changes(
        _ rules: [LifecycleRule], _ versioning: BucketVersioning = .never, replacesAll: Bool = false
    ) -> [String] {
        plan(rules, versioning, replacesAll: replacesAll).changes.map { change in
            switch change {
            case .kept(let rule): "= \(rule.id)"
            case .added(let rule): "+ \(rule.id)"
            case .removed(let rule): "- \(rule.id)"
            }
        }
    }

    private func plan(
        _ rules: [LifecycleRule], _ versioning: BucketVersioning = .never, replacesAll: Bool = false
    ) -> LifecyclePlan {
        LifecyclePlan(
            LifecycleConfiguration(rules: rules, transitionMinimumSize: "varies_by_storage_class"), versioning, terms,
            replacesAll: replacesAll)
    }

    @Test func `puts one rule, and on a versioned bucket a second that tidies up`() {
        #expect(changes([]) == ["+ expire-after-30-days"])
        #expect(changes([], .enabled) == ["+ expire-after-30-days", "+ remove-expired-delete-markers"])
        let versioned = plan([], .suspended).target.rules
        #expect(versioned.map(\.expiration) == [.days(30), .deleteMarkers])
        #expect(versioned.first?.noncurrentExpiration == .init(days: 7, newerVersions: nil))
    }

    @Test func `changes nothing where the rule is, by whatever name`() {
        #expect(plan(terms.rules(.enabled), .enabled).changesNothing)
        #expect(plan([.test("terraform's")]).changesNothing)
    }

    @Test func `takes the place of rules for the same objects, and of no other`() {
        let glacier = XMLNode("Transition", [XMLNode("Days", "9"), XMLNode("StorageClass", "GLACIER")])
        let rules: [LifecycleRule] = [
            .test("month", days: 31), .test("off", status: "Disabled"),
            .test("some", filter: [XMLNode("Prefix", "a/")]),
            .test("moves", more: [glacier]), .test("strange", more: [XMLNode("Shred", "yes")]),
            .test("expire-after-30-days", filter: [XMLNode("Prefix", "b/")]),
        ]
        #expect(
            changes(rules) == [
                "- month", "- off", "= some", "= moves", "= strange", "- expire-after-30-days",
                "+ expire-after-30-days",
            ])
        #expect(
            changes(rules, replacesAll: true) == rules.map { "- \($0.id)" } + ["+ expire-after-30-days"])
    }

    @Test func `keeps what it does not change, to the last element`() {
        let strange = LifecycleRule.test("strange", more: [XMLNode("Shred", [XMLNode("Twice", "")])])
        let target = plan([strange]).target
        #expect(target.rules.first == strange && target.rules.count == 2)
        #expect(target.transitionMinimumSize == "varies_by_storage_class")
    }

    @Test func `tells in plain words what becomes of an object`() throws {
        let now = try #require(Timestamp(iso8601: "2027-01-15T10:30:00Z"))
        let story = LifecycleWords.story(
            LifecycleConfiguration(rules: LifecycleTerms(retentionDays: 3).rules(.enabled)), .enabled,
            LifecycleTerms(retentionDays: 3), now: now)
        // The example of the S3 User Guide, by its days and hours.
        #expect(
            story.first?.contains("now, 2027-01-15 10:30 UTC, expires at 2027-01-19 00:00 UTC: 3 days later") == true)
        #expect(story.contains { $0.contains("their bytes go 7 days later") })
        #expect(
            LifecycleWords.story(LifecycleConfiguration(), .never, terms, now: now).first
                == "An object that nobody deletes stays for ever: no enabled rule expires every object.")
        #expect(
            LifecycleWords.rule(.test("x", filter: [XMLNode("Prefix", "a/")], status: "Disabled"))
                == "\"x\" (disabled), for objects under a/: expires 30 days after it was last written; "
                + "unfinished uploads in parts go after 7 days")
    }
}
