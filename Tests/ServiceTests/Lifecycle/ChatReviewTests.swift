import CloakroomAWS
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// The rules for images of chats.
struct ChatReviewTests {
    /// - Parameter prefix: `nil` for none.
    private func terms(_ mode: String = "delete", days: Int = 14, prefix: String? = "chats/") throws -> LifecycleTerms {
        let uploads = prefix.map { ", chatKeyPrefix: '\($0)', chatRetentionDays: \(days)" } ?? ""
        let release = prefix.map { _ in ", release: {mode: '\(mode)', keys: [{env: 'SIGNING'}]}" } ?? ""
        return LifecycleTerms(
            try settings(
                smallest("uploads: {keyPrefix: 'assets/'\(uploads)}, lifecycle: {prefixes: ['assets/']}\(release)")))
    }

    private func review(_ rules: [LifecycleRule], _ versioning: BucketVersioning, _ terms: LifecycleTerms) -> [String] {
        LifecycleReview(LifecycleConfiguration(rules: rules), versioning, terms).findings.map {
            "\($0.code.rawValue): \($0.text)"
        }
    }

    @Test(arguments: ["delete", "tag"], [BucketVersioning.never, .enabled, .suspended])
    func `the rules of apply are good`(mode: String, versioning: BucketVersioning) throws {
        let terms = try terms(mode)
        #expect(review(terms.rules(versioning), versioning, terms) == [])
        #expect(
            LifecyclePlan(LifecycleConfiguration(rules: terms.rules(versioning)), versioning, terms, replacesAll: false)
                .changesNothing)
    }

    /// A tag of before a change of `release.mode` has to end the image as well.
    @Test(arguments: ["delete", "tag"])
    func `in both modes one rule is for the prefix, and one more for the tag, with days alone`(mode: String) throws {
        let rules = try terms(mode).rules(.enabled)
        #expect(
            rules.map(\.id) == [
                "expire-after-30-days-assets/", "expire-after-30-days-cloakroom-renewal-test", "clean-up",
                "expire-after-14-days-chats/", "expire-after-1-days-released-chats/",
            ])
        let (chats, released) = (try #require(rules.dropFirst(3).first), try #require(rules.dropFirst(4).first))
        #expect(chats.expirationDays == 14 && chats.noncurrentExpiration?.days == 7)
        #expect(chats.filter == LifecycleRule.Filter(prefix: "chats/"))
        let tag = LifecycleRule.Filter.Tag(key: "cloakroom-released", value: "true")
        #expect(released.filter == LifecycleRule.Filter(prefix: "chats/", tags: [tag]))
        #expect(released.expirationDays == 1)
        #expect(released.noncurrentExpiration == nil && released.abortMultipartDays == nil)
    }

    private func plan(_ former: LifecycleTerms, _ terms: LifecycleTerms, replacesAll: Bool = false) -> LifecyclePlan {
        LifecyclePlan(
            LifecycleConfiguration(rules: former.rules(.never)), .never, terms, replacesAll: replacesAll)
    }

    private func removed(_ plan: LifecyclePlan) -> [String] {
        plan.changes.compactMap { if case .removed(let rule) = $0 { rule.id } else { nil } }
    }

    @Test func `a plan replaces the rule of other days, and keeps that of the tag when the mode changes`() throws {
        let plan = plan(try terms("tag", days: 30), try terms("delete"))
        #expect(removed(plan) == ["expire-after-30-days-chats/"])
        #expect(plan.target.rules.map(\.id).contains("expire-after-14-days-chats/"))
        #expect(plan.target.rules.map(\.id).contains("expire-after-1-days-released-chats/"))
    }

    @Test(arguments: [nil, "images/"])
    func `a plan keeps the rules of an earlier prefix, unless all others are to go`(prefix: String?) throws {
        let former = try terms()
        let new = try terms(prefix: prefix)
        let plan = plan(former, new)
        #expect(removed(plan) == [])
        let kept = ["expire-after-14-days-chats/", "expire-after-1-days-released-chats/"]
        #expect(plan.target.rules.map(\.id).filter(kept.contains) == kept)
        #expect(review(plan.target.rules, .never, new) == [])
        #expect(plan.formerChats == ["chats/"])
        let now = try #require(Timestamp(iso8601: "2026-11-23T00:00:00Z"))
        let story = LifecycleDescription.story(plan.target, .never, new, now: now)
        #expect(story.contains("Images of chats behind the earlier prefix chats/ go by the rules that they had."))
        #expect(removed(self.plan(former, new, replacesAll: true)) == kept)
    }

    /// Its objects are assets now, or a user's.
    @Test func `a plan keeps no rule of an earlier prefix that is another place now`() throws {
        let (former, new) = (try terms(), LifecycleTerms(prefixes: ["chats/"], retentionDays: 30))
        #expect(
            removed(plan(former, new)) == [
                "expire-after-30-days-assets/", "expire-after-14-days-chats/", "expire-after-1-days-released-chats/",
            ])
        let users = LifecycleTerms(prefixes: ["assets/"], users: UserFolders(["chats/"]), retentionDays: 30)
        #expect(
            removed(plan(former, users)) == ["expire-after-14-days-chats/", "expire-after-1-days-released-chats/"])
    }

    @Test func `what never ends, or at another time, is found`() throws {
        let terms = try terms()
        let good = terms.rules(.never)
        let without = good.filter { $0.expirationDays != 14 }
        #expect(
            review(without, .never, terms) == [
                "no_expiration: no rule expires images of chats (chats/): those that no app releases stay for ever"
            ])
        let early = without + [.test("x", filter: [XMLNode("Prefix", "chats/")], days: 3)]
        #expect(
            review(early, .never, terms) == [
                "too_short: images of chats (chats/) expire after 3 days, not after the 14 of uploads.chatRetentionDays"
            ])
        let late = without + [.test("x", filter: [XMLNode("Prefix", "c")], days: 90)]
        #expect(
            review(late, .never, terms) == [
                "too_long: images of chats (chats/) expire after 90 days, not after the 14 of uploads.chatRetentionDays"
            ])
        let some = good + [.test("x", filter: [XMLNode("Prefix", "chats/a")], days: 2)]
        #expect(review(some, .never, terms).map { $0.prefix(18) } == ["expires_some_early"])
    }

    @Test func `in mode tag a rule for the tag is missed`() throws {
        let terms = try terms("tag")
        let rules = terms.rules(.never).filter { $0.filter.tags.isEmpty }
        #expect(
            review(rules, .never, terms) == [
                "released_stay: no rule expires images of chats with the tag cloakroom-released=true: those that are"
                    + " released stay as long as all others"
            ])
    }

    @Test func `in mode delete the missing rule for the tag is a warning: nothing promises it for now`() throws {
        let terms = try terms("delete")
        let rules = terms.rules(.never).filter { $0.filter.tags.isEmpty }
        let review = LifecycleReview(LifecycleConfiguration(rules: rules), .never, terms)
        #expect(review.isGood && review.findings.map(\.code) == [.releasedStay])
        #expect(
            review.findings.map(\.text) == [
                "no rule of 1 day expires images of chats with the tag cloakroom-released=true: those that were released"
                    + " with release.mode \"tag\" stay longer"
            ])
    }

    @Test func `versions that no rule ends keep what was released`() throws {
        let terms = try terms()
        let rules = terms.rules(.enabled).filter { $0.filter.prefix != "chats/" } + terms.rules(.never).suffix(2)
        #expect(
            review(rules, .enabled, terms) == [
                "noncurrent_stay: the bucket keeps versions, and no rule ends those of images of chats (chats/): what is"
                    + " released stays for ever"
            ])
    }

    @Test func `the rule for the tag counts no object as one that would newly go`() throws {
        let rules = try terms().rules(.never)
        var count = ExpirationCount(
            from: LifecycleConfiguration(rules: rules.filter { $0.filter.tags.isEmpty }),
            to: LifecycleConfiguration(rules: rules),
            now: Timestamp(iso8601: "2026-11-23T00:00:00Z")!.date)
        count.object("chats/a.bin", size: 5, written: Timestamp(iso8601: "2026-11-15T00:00:00Z")!.date)
        #expect(count.objects == ExpirationCount.Changes())
    }

    @Test func `prefixes for an existing bucket go around them`() throws {
        let plan = try PrefixPlan(
            places: [""], users: UserFolders(["photos/"]), keeping: ["chats/"])
        #expect(!plan.prefixes.contains { "chats/".hasPrefix($0) })
        #expect(plan.prefixes.contains("ca"))
    }
}
