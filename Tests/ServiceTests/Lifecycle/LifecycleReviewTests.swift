import CloakroomAWS
import Foundation
import CloakroomOperations
import CloakroomServer
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
        for terms in [terms, LifecycleTerms(prefixes: ["assets/"], retentionDays: 1)] {
            #expect(findings(terms.rules(versioning), versioning, terms) == [])
        }
    }

    /// Terraform's `retention_days = null`, and CloudFormation's `RetentionDays: 0`.
    @Test(arguments: [BucketVersioning.never, .enabled, .suspended])
    func `where nothing is to expire, a rule that deletes assets is wrong, and none is right`(
        versioning: BucketVersioning
    ) {
        let never = LifecycleTerms(prefixes: ["assets/"], own: ["cloakroom-canary/"], retentionDays: nil)
        #expect(findings(never.rules(versioning), versioning, never) == [])
        let monthly = LifecycleTerms(prefixes: ["assets/"], own: ["cloakroom-canary/"], retentionDays: 30)
        #expect(findings(monthly.rules(versioning), versioning, never) == ["error tooShort"])
        let some = LifecycleRule.test("some", filter: [XMLNode("Prefix", "assets/a")], days: 36_500)
        #expect(findings(never.rules(versioning) + [some], versioning, never) == ["error expiresSomeEarly"])
        // Canaries are no assets.
        let own = LifecycleRule.test("own", filter: [XMLNode("Prefix", "cloakroom-canary/")])
        #expect(findings(never.rules(versioning) + [own], versioning, never) == [])
        #expect(LifecycleConflict(LifecycleTerms(users: UserFolders(["photos/"]), retentionDays: nil)) == nil)
        #expect(!never.expires("assets/"))
    }

    @Test func `tells what becomes of objects where nothing is to expire`() {
        let terms = LifecycleTerms(
            prefixes: ["assets/"], retentionDays: nil,
            chat: ChatTerms(prefix: "chats/", retentionDays: 8, isTagged: false))
        for (versioning, versions) in [
            (BucketVersioning.never, [String]()),
            (
                .enabled,
                [
                    "The bucket keeps versions: those that a deletion or a renewal leaves behind go 7 days later."
                ]
            ),
        ] {
            let configuration = LifecycleConfiguration(rules: terms.rules(versioning))
            let story = LifecycleDescription.story(configuration, versioning, terms, now: Timestamp(Date()))
            #expect(
                story == [
                    "An object that is not deleted stays for ever, as renewal.retentionDays: null says: no enabled rule"
                        + " expires every object under assets/."
                ] + versions + [
                    "Images of chats (chats/) go 8 days after they were uploaded, and one that is released at once.",
                    "Parts of an upload that is never completed go after 7 days.",
                ])
        }
    }

    @Test func `a bucket without rules keeps everything, parts too`() {
        #expect(findings([]) == ["error noExpiration", "error partsStay"])
        #expect(
            findings([.test("off", status: "Disabled")])
                == ["error noExpiration", "warning disabled", "error partsStay"])
    }

    @Test func `a rule that ends some uploads in parts ends not all`() throws {
        let size = XMLNode("ObjectSizeGreaterThan", "1")
        #expect(findings([.test("some", filter: [size])]) == ["error filtered", "error partsStay"])
        // Users' uploads lie beside the assets.
        let assets = LifecycleRule.test("assets", filter: [XMLNode("Prefix", "assets/")])
        #expect(findings([assets], .never, try beside()) == ["error partsStay"])
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
        let assets = LifecycleTerms(prefixes: ["assets/"], retentionDays: 30)
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
        for (days, expected) in [(29, "error expiresSomeEarly"), (30, "warning overlap")] {
            #expect(findings([.test("all"), .test("tmp", filter: other, days: days)]) == [expected])
        }
        // What has a tag is in no listing, and goes all the same.
        let tagged = [XMLNode("Tag", [XMLNode("Key", "k"), XMLNode("Value", "v")])]
        #expect(findings([.test("all"), .test("tag", filter: tagged, days: 7)]) == ["error expiresSomeEarly"])
        let date = XMLNode("Expiration", [XMLNode("Date", "2027-01-01T00:00:00.000Z")])
        #expect(findings([.test("all"), .test("end", expiration: date)]) == ["error date"])
        // What lies elsewhere is not what these terms are about.
        let assets = LifecycleTerms(prefixes: ["assets/"], retentionDays: 30)
        #expect(findings([.test("all"), .test("tmp", filter: other, days: 7)], .never, assets) == [])
    }

    @Test func `a rule for what is no asset is nobody's promise, though the main rule is for everything`() throws {
        let terms = LifecycleTerms(
            try settings(
                smallest(
                    "renewal: {keyPrefix: 'assets/'}, uploads: {keyPrefix: 'assets/new/'}, "
                        + "lifecycle: {prefixes: ['assets/'], expiresUserFolders: true}")))
        let logs = LifecycleRule.test("logs", filter: [XMLNode("Prefix", "logs/")], days: 7)
        #expect(findings([.test("all"), logs], .never, terms) == [])
        for (prefix, expected) in [
            ("assets/old/", ["error expiresSomeEarly"]), ("assets/", ["error tooShort", "warning overlap"]),
            ("as", ["error tooShort", "warning overlap"]),
        ] {
            let inTheWay = LifecycleRule.test("tmp", filter: [XMLNode("Prefix", prefix)], days: 7)
            #expect(findings([.test("all"), inTheWay], .never, terms) == expected, "\(prefix)")
        }
    }

    /// Users' folders beside assets, and old assets in the bucket itself.
    private func beside(_ more: String = "") throws -> LifecycleTerms {
        LifecycleTerms(
            try settings(
                smallest("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['assets/'], \(more)}")))
    }

    @Test func `every rule that can match an object in a user's folder is an error, by whatever it does`() throws {
        let terms = try beside()
        let marks = XMLNode("Expiration", [XMLNode("ExpiredObjectDeleteMarker", "true")])
        let date = XMLNode("Expiration", [XMLNode("Date", "2027-01-01T00:00:00.000Z")])
        let versions = XMLNode("NoncurrentVersionExpiration", [XMLNode("NoncurrentDays", "7")])
        func transition(_ name: String, _ to: String) -> XMLNode {
            XMLNode(
                name, [XMLNode(name == "Transition" ? "Days" : "NoncurrentDays", "9"), XMLNode("StorageClass", to)])
        }
        let tag = XMLNode("Tag", [XMLNode("Key", "k"), XMLNode("Value", "v")])
        for (prefix, isMet) in [
            ("", true), ("p", true), ("photos", true), ("photos/", true), ("photos/u_1/2024", true),
            ("metadata/", true),
            ("assets/", false), ("photos2/", false), ("logs/", false),
        ] {
            for (effect, counts) in [
                ([XMLNode("Expiration", [XMLNode("Days", "60")])], true), ([date], true), ([marks], false),
                ([marks, versions], true), ([marks, transition("Transition", "DEEP_ARCHIVE")], true),
                ([marks, transition("Transition", "STANDARD_IA")], false),
                ([marks, transition("NoncurrentVersionTransition", "GLACIER")], true),
            ] {
                for filter in [
                    [XMLNode("Prefix", prefix)], [XMLNode("And", [XMLNode("Prefix", prefix), tag])],
                    [XMLNode("And", [XMLNode("Prefix", prefix), XMLNode("ObjectSizeGreaterThan", "1")])],
                ] {
                    let rule = LifecycleRule.test("r", filter: filter, expiration: effect[0], more: Array(effect[1...]))
                    let found = LifecycleReview(LifecycleConfiguration(rules: [rule]), .never, terms).findings
                        .filter { $0.code == .userFolders }
                    #expect(found.count == (isMet && counts ? 1 : 0), "\(prefix) \(rule.xml)")
                    #expect(found.allSatisfy { $0.severity == .error })
                    let words = filter[0].name == "And" ? "may match" : "matches"
                    #expect(found.allSatisfy { $0.text.contains(words) }, "\(found)")
                }
            }
        }
    }

    @Test func `a rule that a plan adds is told of where it matches users' folders, and none that stays`() {
        var terms = LifecycleTerms(
            prefixes: ["assets/"], own: ["cloakroom-canary/"], users: UserFolders(["cloakroom-canary/", "photos/"]),
            retentionDays: 30)
        let added = { (rules: [LifecycleRule], terms: LifecycleTerms) -> [String] in
            let plan = LifecyclePlan(LifecycleConfiguration(rules: rules), .never, terms, replacesAll: false)
            return LifecycleReview.userFolders(addedBy: plan, terms).map { "\($0.code) \($0.rule ?? "")" }
        }
        let theirs = LifecycleRule.test("theirs", filter: [XMLNode("Prefix", "photos/")])
        #expect(added([theirs], terms) == ["userFolders \"expire-after-30-days-cloakroom-canary/\""])
        #expect(added(terms.rules(.never), terms) == [])
        terms.expiresUserFolders = true
        #expect(added([theirs], terms) == [])
    }

    @Test func `that users' folders expire is good where the settings say so, and an error of theirs where not`() throws
    {
        #expect(findings([.test("all")], .never, try beside("expiresUserFolders: true")) == [])
        let whole = LifecycleTerms(try settings(smallest()))
        #expect(findings(whole.rules(.never), .never, whole) == ["error userFolders"])
        #expect(findings([], .never, whole).first == "error userFolders")
    }

    @Test func `noncurrent versions expire under the prefixes alone`() throws {
        let terms = try beside()
        for versioning in [BucketVersioning.enabled, .suspended] {
            #expect(findings(terms.rules(versioning), versioning, terms) == [])
        }
    }

    @Test func `a rule may take assets in the bucket itself early, where no rule of ours is for them`() throws {
        let terms = try beside()
        let short = { (prefix: String) in
            LifecycleRule.test("short", filter: [XMLNode("Prefix", prefix)], days: 7)
        }
        #expect(findings(terms.rules(.never) + [short("c")], .never, terms) == ["error expiresSomeEarly"])
        // What is in a folder is no name.
        #expect(findings(terms.rules(.never) + [short("logs/")], .never, terms) == [])
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
