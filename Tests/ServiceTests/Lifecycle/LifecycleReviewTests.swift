import AWS
import Foundation
import Service
import Testing

struct LifecycleReviewTests {
    private let terms = LifecycleTerms(retentionDays: 30)

    /// What is wrong: severity and code.
    private func findings(
        _ rules: [LifecycleRule], _ versioning: BucketVersioning = .never, _ terms: LifecycleTerms? = nil
    ) -> [String] {
        LifecycleReview(LifecycleConfiguration(rules: rules), versioning, terms ?? self.terms).findings
            .map { "\($0.severity) \($0.code)" }
    }

    @Test(arguments: [BucketVersioning.never, .enabled, .suspended])
    func `what apply puts is good`(versioning: BucketVersioning) {
        for terms in [terms, LifecycleTerms(prefix: "assets/", retentionDays: 1)] {
            #expect(findings(terms.rules(versioning), versioning, terms) == [])
        }
    }

    @Test func `a bucket without rules keeps everything, parts too`() {
        #expect(findings([]) == ["error noExpiration", "error partsStay"])
        #expect(
            findings([.test("off", status: "Disabled")])
                == ["error noExpiration", "warning disabled", "error partsStay"])
    }

    @Test func `a rule for some objects is none for all`() {
        let filters = [
            XMLNode("Prefix", "a/"), XMLNode("Tag", [XMLNode("Key", "k"), XMLNode("Value", "v")]),
            XMLNode("ObjectSizeGreaterThan", "1"), XMLNode("Moon", "full"),
        ]
        for filter in filters {
            #expect(findings([.test("some", filter: [filter])]).prefix(1) == ["error filtered"], "\(filter)")
        }
        // The prefix of the settings is what the rule is to be for.
        let assets = LifecycleTerms(prefix: "assets/", retentionDays: 30)
        #expect(findings([.test("assets", filter: [XMLNode("Prefix", "assets/")])], .never, assets) == [])
        #expect(findings([.test("all")], .never, assets) == [])
        #expect(
            findings([.test("users", filter: [XMLNode("Prefix", "photos/")], days: 1)], .never, assets).prefix(1)
                == ["error filtered"])
    }

    @Test func `days are what workers promise`() {
        #expect(findings([.test("short", days: 29)]) == ["error tooShort"])
        #expect(findings([.test("long", days: 31)]) == ["error tooLong"])
        #expect(findings([.test("a"), .test("b", days: 40)]) == ["warning overlap"])
        #expect(findings([.test("a"), .test("b", days: 7)]) == ["error tooShort", "warning overlap"])
    }

    @Test func `another rule may take some objects early, or is in vain`() {
        let other = [XMLNode("Prefix", "tmp/")]
        #expect(findings([.test("all"), .test("tmp", filter: other, days: 7)]) == ["error expiresSomeEarly"])
        #expect(findings([.test("all"), .test("tmp", filter: other, days: 60)]) == ["warning overlap"])
        let date = XMLNode("Expiration", [XMLNode("Date", "2027-01-01T00:00:00.000Z")])
        #expect(findings([.test("all"), .test("end", expiration: date)]) == ["error date"])
        // What lies elsewhere is not what these terms are about.
        let assets = LifecycleTerms(prefix: "assets/", retentionDays: 30)
        #expect(findings([.test("all"), .test("tmp", filter: other, days: 7)], .never, assets) == [])
    }

    @Test func `a rule for what is no asset is nobody's promise, though the main rule is for everything`() throws {
        let terms = LifecycleTerms(
            try settings(smallest("renewal: {keyPrefix: 'assets/'}, uploads: {keyPrefix: 'assets/new/'}")))
        let logs = LifecycleRule.test("logs", filter: [XMLNode("Prefix", "logs/")], days: 7)
        #expect(findings([.test("all"), logs], .never, terms) == [])
        for prefix in ["assets/", "assets/old/", "as"] {
            let inTheWay = LifecycleRule.test("tmp", filter: [XMLNode("Prefix", prefix)], days: 7)
            #expect(findings([.test("all"), inTheWay], .never, terms) == ["error expiresSomeEarly"], "\(prefix)")
        }
    }

    @Test(arguments: [
        ("GLACIER", "10", "error archives"), ("DEEP_ARCHIVE", "1", "error archives"),
        ("STANDARD_IA", "29", "warning transition"), ("INTELLIGENT_TIERING", "0", "warning transition"),
    ])
    func `a storage class that changes is told of`(name: String, days: String, expected: String) {
        let transition = XMLNode("Transition", [XMLNode("Days", days), XMLNode("StorageClass", name)])
        #expect(findings([.test("all", more: [transition])]) == [expected])
        let late = XMLNode("Transition", [XMLNode("Days", "30"), XMLNode("StorageClass", name)])
        #expect(findings([.test("all", more: [late])]) == [])
    }

    @Test func `old versions stay unless a rule takes them all`() {
        #expect(findings([.test("all")], .enabled) == ["error noncurrentStay"])
        #expect(findings([.test("all")], .suspended) == ["error noncurrentStay"])
        let kept = XMLNode(
            "NoncurrentVersionExpiration",
            [XMLNode("NoncurrentDays", "7"), XMLNode("NewerNoncurrentVersions", "3")])
        #expect(findings([.test("all", more: [kept])], .enabled) == ["error noncurrentStay"])
    }

    @Test func `what is not understood is named`() throws {
        let review = LifecycleReview(
            LifecycleConfiguration(rules: [.test("all", more: [XMLNode("Shred", "yes")])]), .never, terms)
        #expect(review.findings.map(\.code) == [.notUnderstood] && review.isGood)
        #expect(try #require(review.findings.first).text.contains("Shred"))
    }
}

extension LifecycleRule {
    /// A rule that aborts uploads in parts as well.
    static func test(
        _ id: String, filter: [XMLNode] = [], status: String = "Enabled", days: Int = 30, expiration: XMLNode? = nil,
        more: [XMLNode] = []
    ) -> LifecycleRule {
        LifecycleRule(
            xml: XMLNode(
                "Rule",
                [
                    XMLNode("ID", id), XMLNode("Filter", filter), XMLNode("Status", status),
                    expiration ?? XMLNode("Expiration", [XMLNode("Days", String(days))]),
                    XMLNode("AbortIncompleteMultipartUpload", [XMLNode("DaysAfterInitiation", "7")]),
                ] + more))
    }
}
