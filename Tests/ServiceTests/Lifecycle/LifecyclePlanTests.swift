import CloakroomAWS
import Foundation
import CloakroomOperations
import CloakroomServer
import Testing

struct LifecyclePlanTests {
    private let terms = LifecycleTerms(retentionDays: 30)

    /// Each rule by its ID, with the sign of what becomes of it.
    private func changes(
        _ rules: [LifecycleRule], _ versioning: BucketVersioning = .never, replacesAll: Bool = false,
        _ terms: LifecycleTerms? = nil
    ) -> [String] {
        plan(rules, versioning, replacesAll: replacesAll, terms).changes.map { change in
            switch change {
            case .kept(let rule): "= \(rule.id)"
            case .added(let rule): "+ \(rule.id)"
            case .removed(let rule): "- \(rule.id)"
            }
        }
    }

    private func plan(
        _ rules: [LifecycleRule], _ versioning: BucketVersioning = .never, replacesAll: Bool = false,
        _ terms: LifecycleTerms? = nil
    ) -> LifecyclePlan {
        LifecyclePlan(
            LifecycleConfiguration(rules: rules, transitionMinimumSize: "varies_by_storage_class"), versioning,
            terms ?? self.terms, replacesAll: replacesAll)
    }

    @Test func `puts one rule for each prefix, and one that tidies up the bucket without deleting an object`() throws {
        #expect(changes([]) == ["+ expire-after-30-days", "+ clean-up"])
        #expect(
            changes([], .enabled, LifecycleTerms(prefixes: ["assets/", "ca0"], retentionDays: 7))
                == ["+ expire-after-7-days-assets/", "+ expire-after-7-days-ca0", "+ clean-up"])
        let cleanUp = try #require(plan([]).target.rules.last)
        #expect(cleanUp.filter.isEverything && cleanUp.expiration == nil && cleanUp.noncurrentExpiration == nil)
        #expect(cleanUp.abortMultipartDays == 7)
        let versioned = plan([], .suspended).target.rules
        #expect(versioned.map(\.expiration) == [.days(30), .deleteMarkers])
        #expect(versioned.last?.noncurrentExpiration == nil)
        #expect(versioned.first?.noncurrentExpiration == .init(days: 7, newerVersions: nil))
    }

    @Test func `puts no rule that deletes objects where nothing is to expire, and takes its own back`() throws {
        let terms = LifecycleTerms(prefixes: ["assets/"], own: ["cloakroom-canary/"], retentionDays: nil)
        #expect(changes([], .never, terms) == ["+ clean-up"])
        let names = ["remove-old-versions-assets/", "remove-old-versions-cloakroom-canary/", "clean-up"]
        #expect(changes([], .enabled, terms) == names.map { "+ \($0)" })
        let rules = terms.rules(.enabled)
        #expect(rules.map(\.expiration) == [nil, nil, .deleteMarkers])
        #expect(rules.prefix(2).allSatisfy { $0.noncurrentExpiration == .init(days: 7, newerVersions: nil) })
        let monthly = LifecycleTerms(prefixes: ["assets/"], retentionDays: 30)
        #expect(
            changes(monthly.rules(.never), .never, terms) == ["- expire-after-30-days-assets/", "= clean-up"])
        #expect(
            changes(rules, .enabled, monthly) == [
                "- remove-old-versions-assets/", "- remove-old-versions-cloakroom-canary/", "= clean-up",
                "+ expire-after-30-days-assets/",
            ])
    }

    @Test func `suspends its own rules that delete assets, and no other`() {
        let terms = LifecycleTerms(
            prefixes: ["assets/"], own: ["cloakroom-canary/"], retentionDays: 30,
            chat: ChatTerms(prefix: "chats/", retentionDays: 8, isTagged: true))
        let renamed = LifecycleRule(
            xml: XMLNode("Rule", terms.rules(.enabled)[0].xml.elements.filter { $0.name != "ID" }))
        let glacier = XMLNode("Transition", [XMLNode("Days", "9"), XMLNode("StorageClass", "GLACIER")])
        let others: [LifecycleRule] = [
            .test("tmp", filter: [XMLNode("Prefix", "tmp/")], days: 3), .test("off", status: "Disabled"),
            .test("moves", more: [glacier]),
        ]
        let current = LifecycleConfiguration(
            rules: others + [renamed] + terms.rules(.enabled), transitionMinimumSize: "varies_by_storage_class")
        let plan = LifecyclePlan(suspending: current, .enabled, terms)
        let suspended = ["", "expire-after-30-days-assets/", "expire-after-30-days-cloakroom-canary/"]
        #expect(plan.target.rules.count == current.rules.count)
        #expect(plan.target.transitionMinimumSize == "varies_by_storage_class")
        for (rule, former) in zip(plan.target.rules, current.rules) {
            let isSuspended = suspended.contains(rule.id)
            #expect(rule.id == former.id && rule.isEnabled == (former.isEnabled && !isSuspended), "\(rule.id)")
            #expect(isSuspended || rule == former)
            #expect(rule.expiration == former.expiration && rule.filter == former.filter)
        }
        #expect(
            plan.deleting.map(\.id) == [
                "tmp", "moves", "expire-after-8-days-chats/", "expire-after-1-days-released-chats/",
            ])
        #expect(!plan.changesNothing)
        #expect(LifecyclePlan(suspending: plan.target, .enabled, terms).changesNothing)
        // Then apply puts them back.
        let back = LifecyclePlan(plan.target, .enabled, terms, replacesAll: false).target.rules
        #expect(back.count { $0.isEnabled } == 7)
    }

    @Test func `changes nothing where the rule is, by whatever name`() {
        #expect(plan(terms.rules(.enabled), .enabled).changesNothing)
        let renamed = terms.rules(.never).map { rule in
            LifecycleRule(xml: XMLNode("Rule", rule.xml.elements.filter { $0.name != "ID" }))
        }
        #expect(plan(renamed).changesNothing)
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
                "+ expire-after-30-days", "+ clean-up",
            ])
        #expect(
            changes(rules, replacesAll: true) == rules.map { "- \($0.id)" } + ["+ expire-after-30-days", "+ clean-up"])
    }

    /// A rule with our name that would archive objects, or delete none, must not count as there.
    @Test func `keeps no rule as its own that does more or less`() {
        let ours = terms.rules(.enabled)
        let glacier = XMLNode("Transition", [XMLNode("Days", "9"), XMLNode("StorageClass", "GLACIER")])
        let elements = ours[0].xml.elements
        let altered: [[XMLNode]] = [
            elements + [glacier], elements + [XMLNode("Shred", "yes")],
            elements.filter { $0.name != "NoncurrentVersionExpiration" },
            elements.map { $0.name == "Status" ? XMLNode("Status", "Disabled") : $0 },
            elements.map { $0.name == "Filter" ? XMLNode("Filter", [XMLNode("Prefix", "a/")]) : $0 },
        ]
        for elements in altered {
            let rule = LifecycleRule(xml: XMLNode("Rule", elements))
            #expect(
                changes([rule] + ours.dropFirst(), .enabled)
                    == ["- expire-after-30-days", "= clean-up", "+ expire-after-30-days"], "\(rule.xml)")
        }
    }

    @Test func `leaves to others what they delete by a date, or of older versions`() {
        let date = XMLNode("Expiration", [XMLNode("Date", "2027-01-01T00:00:00.000Z")])
        #expect(
            changes([.test("dated", expiration: date)]) == ["= dated", "+ expire-after-30-days", "+ clean-up"])
        let assets = LifecycleTerms(prefixes: ["assets/"], retentionDays: 30)
        let markers = XMLNode("Expiration", [XMLNode("ExpiredObjectDeleteMarker", "true")])
        let versions = XMLNode("NoncurrentVersionExpiration", [XMLNode("NoncurrentDays", "90")])
        #expect(
            changes([.test("versions", expiration: markers, more: [versions])], .enabled, assets)
                == ["= versions", "+ expire-after-30-days-assets/", "+ clean-up"])
    }

    @Test func `removes rules of earlier versions, whatever they are for, and no rule of others for the bucket`() {
        let assets = LifecycleTerms(prefixes: ["assets/"], retentionDays: 30)
        let markers = XMLNode("Expiration", [XMLNode("ExpiredObjectDeleteMarker", "true")])
        let rules: [LifecycleRule] = [
            .test("expire-after-30-days"), .test("expire-after-7-days", filter: [XMLNode("Prefix", "b/")]),
            .test("clean-up", status: "Disabled"), .test("remove-expired-delete-markers", expiration: markers),
            .test("expire-after-two-days"), .test("theirs", days: 7),
        ]
        #expect(
            changes(rules, .never, assets) == [
                "- expire-after-30-days", "- expire-after-7-days", "- clean-up", "- remove-expired-delete-markers",
                "= expire-after-two-days", "= theirs", "+ expire-after-30-days-assets/", "+ clean-up",
            ])
    }

    @Test func `keeps what it does not change, to the last element`() {
        let strange = LifecycleRule.test("strange", more: [XMLNode("Shred", [XMLNode("Twice", "")])])
        let target = plan([strange]).target
        #expect(target.rules.first == strange && target.rules.count == 3)
        #expect(target.transitionMinimumSize == "varies_by_storage_class")
    }

    @Test func `tells in plain words what becomes of an object`() throws {
        let now = try #require(Timestamp(iso8601: "2027-01-15T10:30:00Z"))
        let story = LifecycleDescription.story(
            LifecycleConfiguration(rules: LifecycleTerms(retentionDays: 3).rules(.enabled)), .enabled,
            LifecycleTerms(retentionDays: 3), now: now)
        // The example of the S3 User Guide, by its days and hours.
        #expect(
            story.first?.contains("now, 2027-01-15 10:30 UTC, expires at 2027-01-19 00:00 UTC: 3 days later") == true)
        #expect(story.contains { $0.contains("their bytes go 7 days later") })
        #expect(
            LifecycleDescription.story(LifecycleConfiguration(), .never, terms, now: now).first
                == "An object that is not deleted stays for ever: no enabled rule expires every object.")
        #expect(
            LifecycleDescription.rule(.test("x", filter: [XMLNode("Prefix", "a/")], status: "Disabled"))
                == "\"x\" (disabled), for objects under a/: expires 30 days after it was last written; "
                + "unfinished multipart uploads go after 7 days")
    }
}
