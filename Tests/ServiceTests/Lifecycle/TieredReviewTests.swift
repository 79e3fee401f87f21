import CloakroomAWS
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// What is said of photos that are on no device any more.
struct TieredReviewTests {
    /// Assets that expire, beside users' folders of these names.
    private func terms(
        _ folders: String = "'photos', 'thumbnails', 'catalogs'", lifecycle: String = "prefixes: ['assets/']"
    ) throws -> LifecycleTerms {
        LifecycleTerms(
            try settings(
                smallest(
                    "uploads: {keyPrefix: 'assets/'}, lifecycle: {\(lifecycle)}", vending: "prefixes: [\(folders)]")))
    }

    /// Beside the rules that `lifecycle apply` puts.
    private func review(
        _ more: [LifecycleRule], _ versioning: BucketVersioning = .never, _ terms: LifecycleTerms
    ) -> LifecycleReview {
        LifecycleReview(LifecycleConfiguration(rules: terms.rules(versioning) + more), versioning, terms)
    }

    private func rule(
        _ id: String, _ prefix: String, _ expiration: XMLNode? = nil, more: [XMLNode] = [], filter: [XMLNode] = []
    ) -> LifecycleRule {
        let prefix = XMLNode("Prefix", prefix)
        return .test(
            id, filter: filter.isEmpty ? [prefix] : [XMLNode("And", [prefix] + filter)], days: 90,
            expiration: expiration, more: more)
    }

    private let marks = XMLNode("Expiration", [XMLNode("ExpiredObjectDeleteMarker", "true")])

    private static let confirmation =
        "tiered photos: no rule of the bucket deletes or archives what is in photos/USER/, thumbnails/USER/,"
        + " catalogs/USER/"

    @Test(arguments: [BucketVersioning.never, .enabled, .suspended])
    func `the rules of apply leave tiered photos alone, and that is confirmed`(versioning: BucketVersioning) throws {
        let found = review([], versioning, try terms())
        #expect(found.findings == [] && found.tiered?.confirmation == Self.confirmation)
        #expect(found.tiered?.rules == [] && found.tiered?.versioning == versioning)
    }

    @Test func `nothing is confirmed of folders that users do not have`() throws {
        for folders in ["'photos', 'thumbnails', 'metadata'", "'a/photos', 'thumbnails', 'catalogs'", "''"] {
            #expect(review([], .enabled, try terms(folders)).tiered == nil, "\(folders)")
        }
    }

    @Test func `of three folders without catalogs a note says that nothing leaves the devices`() throws {
        func note(_ folders: String) throws -> String? {
            try settings(smallest(vending: "prefixes: [\(folders)]")).tieredFolders.note
        }
        let expected =
            "users have photos and thumbnails, but no catalogs (vending.prefixes): tiers keep no catalog snapshots, so"
            + " nothing leaves the devices"
        #expect(try note("'photos', 'thumbnails', 'metadata'") == expected)
        for folders in ["'photos', 'thumbnails', 'catalogs'", "'pictures'", "'photos'", "''"] {
            #expect(try note(folders) == nil, "\(folders)")
        }
        let findings = SettingsFindings(try settings(smallest())).notes
        #expect(findings.lines == ["skipped: tiered photo storage: \(expected)"])
        let complete = try settings(smallest(vending: "prefixes: ['photos', 'thumbnails', 'catalogs']"))
        #expect(SettingsFindings(complete).notes == [])
    }

    @Test(arguments: ["photos/", "thumbnails/u_1/", "catalogs/", "cat", ""])
    func `a rule by whomever that reaches one of the folders is an error, and is named`(prefix: String) throws {
        let date = XMLNode("Expiration", [XMLNode("Date", "2027-01-01T00:00:00.000Z")])
        let archive = XMLNode("Transition", [XMLNode("Days", "9"), XMLNode("StorageClass", "GLACIER")])
        let size = XMLNode("ObjectSizeGreaterThan", "1")
        let tag = XMLNode("Tag", [XMLNode("Key", "k"), XMLNode("Value", "v")])
        for rule in [
            rule("late", prefix), rule("late", prefix, date), rule("late", prefix, marks, more: [archive]),
            rule("late", prefix, filter: [size]), rule("late", prefix, date, filter: [tag]),
        ] {
            for lifecycle in ["", ", expiresUserFolders: true"] {
                let found = review([rule], .enabled, try terms(lifecycle: "prefixes: ['assets/']\(lifecycle)"))
                let errors = found.findings.filter { $0.code == .userFolders }
                #expect(errors.count == 1 && errors.allSatisfy { $0.severity == .error && $0.rule == "\"late\"" })
                #expect(!found.isGood && found.tiered?.confirmation == nil, "\(rule.xml)")
                #expect(found.tiered?.rules == ["\"late\""])
            }
        }
    }

    @Test func `a disabled rule, one for other folders and one that sets a class to be read from reach nothing`() throws
    {
        let class1 = XMLNode("Transition", [XMLNode("Days", "9"), XMLNode("StorageClass", "STANDARD_IA")])
        let off = LifecycleRule.test("off", filter: [XMLNode("Prefix", "photos/")], status: "Disabled")
        for rule in [rule("logs", "logs/"), rule("ia", "photos/", marks, more: [class1]), off] {
            let found = review([rule], .never, try terms())
            #expect(found.isGood && found.tiered?.confirmation == Self.confirmation, "\(rule.xml)")
        }
    }

    @Test func `where users' folders may expire, older versions of tiered photos may, and nothing else`() throws {
        let versions = XMLNode("NoncurrentVersionExpiration", [XMLNode("NoncurrentDays", "60")])
        let rule = rule("versions", "photos/", marks, more: [versions])
        let strict = review([rule], .enabled, try terms())
        #expect(strict.findings.map(\.code) == [.userFolders] && strict.tiered?.confirmation == nil)
        let found = review([rule], .enabled, try terms(lifecycle: "prefixes: ['assets/'], expiresUserFolders: true"))
        #expect(found.findings == [] && found.tiered?.confirmation == Self.confirmation)
        #expect(found.tiered?.versions.hasSuffix("until a rule deletes them, 60 days later") == true)
    }

    @Test func `an unknown action is an error where it may reach tiered photos, and a warning elsewhere`() throws {
        let shred = XMLNode("Shred", "yes")
        for (prefix, severity) in [("photos/", LifecycleFinding.Severity.error), ("logs/", .warning)] {
            let found = review([rule("new", prefix, marks, more: [shred])], .never, try terms())
            #expect(found.findings.map(\.code) == [.notUnderstood] && found.findings.first?.severity == severity)
            #expect((found.tiered?.confirmation == nil) == (severity == .error))
        }
        // A condition only spares objects.
        let moon = rule("moon", "photos/", marks, filter: [XMLNode("Moon", "full")])
        #expect(review([moon], .never, try terms()).findings.map(\.severity) == [.warning])
    }

    @Test func `a class that may be archived without a rule is a warning`() throws {
        let move = XMLNode("Transition", [XMLNode("Days", "0"), XMLNode("StorageClass", "INTELLIGENT_TIERING")])
        for (prefix, count) in [("photos/", 1), ("logs/", 0)] {
            let found = review([rule("move", prefix, marks, more: [move])], .never, try terms()).findings
            #expect(found.map(\.code) == Array(repeating: .transition, count: count))
            #expect(found.allSatisfy { $0.severity == .warning })
        }
    }

    @Test func `what versions mean is said`() throws {
        let texts = try [BucketVersioning.never, .enabled, .suspended].map {
            try #require(review([], $0, try terms()).tiered).versions
        }
        #expect(texts[0].hasSuffix("versions are not kept: a photo that is deleted cannot be brought back"))
        #expect(texts[1].contains("the operator can bring back a photo that is deleted"))
        #expect(texts[1].hasSuffix("are paid for until the operator deletes them"))
        #expect(texts[2].contains("versioning is suspended"))
    }

    @Test func `settings whose own rules reach tiered photos are an error, whatever else may expire`() throws {
        let text = smallest(
            "lifecycle: {expiresUserFolders: true}", vending: "prefixes: ['photos', 'thumbnails', 'catalogs']")
        let terms = LifecycleTerms(try settings(text))
        let conflict = try #require(LifecycleConflict(terms))
        #expect(conflict.folders == ["photos/", "thumbnails/", "catalogs/"])
        #expect(conflict.text.contains("tiered photos are there as well"))
        #expect(conflict.advice.contains("take catalogs out"))
        #expect(SettingsReview(try settings(text)).errors.map(\.text) == [conflict.text])
        let plan = LifecyclePlan(LifecycleConfiguration(), .never, terms, replacesAll: false)
        #expect(LifecycleReview.userFolders(addedBy: plan, terms).count == 1)
        // Assets may lie in other folders of users.
        let beside = try self.terms(
            "'photos', 'thumbnails', 'catalogs', 'metadata'",
            lifecycle: "prefixes: ['assets/', 'metadata/'], expiresUserFolders: true")
        #expect(LifecycleConflict(beside) == nil && review([], .never, beside).isGood)
    }

    @Test func `the doctor confirms it, and warns where it may not look`() throws {
        let terms = try terms()
        let good = review([], .never, terms)
        #expect(
            LifecycleFindings.all(good, terms).lines == [
                "ok: what is not renewed expires after 30 days", "ok: \(Self.confirmation)",
                "ok: tiered photos: versions are not kept: a photo that is deleted cannot be brought back",
            ])
        let late = LifecycleFindings.all(review([rule("late", "photos/")], .enabled, terms), terms).lines
        #expect(late.first?.hasPrefix("error: the rule \"late\", for objects under photos/, matches") == true)
        #expect(!late.contains { $0.contains("no rule") } && late.last?.contains("versions are kept") == true)
        let denied = AWSError(.refused, status: 403, code: "AccessDenied")
        #expect(LifecycleFindings.unread(denied, terms).level == .warning)
    }
}
