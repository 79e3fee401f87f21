import CloakroomAWS
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct OwnObjectsTests {
    private func own(_ more: String, vending: String = "") throws -> OwnObjects {
        try settings(smallest(more, vending: vending)).ownObjects
    }

    @Test func `lie under the first lifecycle prefix that ends in a slash and meets no users' folder`() throws {
        for (more, expected) in [
            ("", ""), ("uploads: {keyPrefix: 'assets/'}", "assets/"),
            ("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['ca0', 'b/', 'assets/']}", "b/"),
            (
                "uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['photos/', 'assets/'], expiresUserFolders: true}",
                "assets/"
            ),
        ] {
            let own = try own(more)
            #expect(own.canaries == "\(expected)cloakroom-canary/" && own.doctor == "\(expected)cloakroom-doctor/")
            #expect(own.ruleless == [], "\(more)")
        }
    }

    @Test func `have rules of their own where no prefix is for them`() throws {
        let settings = try settings(
            smallest("lifecycle: {prefixes: [\("0123456789abcdef".map { "'\($0)'" }.joined(separator: ", "))]}"))
        #expect(settings.ownObjects.canaries == "cloakroom-canary/")
        let rules = LifecycleTerms(settings).rules(.never)
        for prefix in ["cloakroom-canary/", "cloakroom-doctor/"] {
            #expect(rules.contains { $0.filter == .init(prefix: prefix) && $0.expirationDays == 30 })
        }
    }

    @Test func `what renewals are tested with has a rule where versions are kept and no prefix is for it`() throws {
        let renewal = "renewal: {keyPrefix: '', formerPrefixes: ['old/', 'assets/old/']}"
        let settings = try settings(
            smallest("uploads: {keyPrefix: 'assets/'}, \(renewal), lifecycle: {prefixes: ['assets/']}"))
        let terms = LifecycleTerms(settings)
        let keys = ["cloakroom-renewal-test", "old/cloakroom-renewal-test"]
        #expect(terms.renewalTests == keys)
        func found(_ rules: [LifecycleRule]) -> [LifecycleFinding] {
            LifecycleReview(LifecycleConfiguration(rules: rules), .enabled, terms).findings
        }
        let rules = terms.rules(.enabled)
        for key in keys {
            let rule = rules.first { $0.filter == .init(prefix: key) }
            #expect(rule?.expirationDays == 30 && rule?.noncurrentExpiration?.days == 7)
            #expect(!terms.rules(.never).contains { $0.filter.prefix == key })
            #expect(settings.ownObjects.hold(key) && !settings.ownObjects.hold(key + "s"))
        }
        #expect(found(rules).isEmpty)
        let former = found(rules.filter { !keys.contains($0.filter.prefix) })
        #expect(former.map(\.code) == [.noncurrentStay] && former.map(\.severity) == [.warning])
        // As another rule of the bucket may do.
        let all = LifecycleRule.test(
            "old", more: [XMLNode("NoncurrentVersionExpiration", [XMLNode("NoncurrentDays", "3")])])
        #expect(!found([all] + terms.rules(.never)).contains { $0.code == .noncurrentStay })
    }

    @Test func `what renewals are tested with needs no rule within a prefix, nor has one in users' folders`() throws {
        let digits = "0123456789abcdef".map { "'\($0)'" }.joined(separator: ", ")
        for (more, vending) in [
            ("", ""), ("lifecycle: {prefixes: [\(digits)]}", ""),
            ("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['assets/']}", "prefixes: ['']"),
        ] {
            #expect(try own(more, vending: vending).rulelessRenewalTests == [], "\(more)")
        }
    }

    @Test func `are known by their keys, those of earlier versions too`() throws {
        let own = try own("uploads: {keyPrefix: 'assets/'}, renewal: {keyPrefix: 'old/'}")
        #expect(own.formerCanaries == "old/cloakroom-canary/")
        for (key, expected) in [
            ("assets/cloakroom-canary/h/x", true), ("assets/cloakroom-doctor/x", true),
            ("old/cloakroom-canary/x", true),
            ("old/cloakroom-doctor/x", true), ("cloakroom-canary/x", false), ("assets/cloakroom-canary", false),
            ("assets/x", false), ("cloakroom-validation-a1/control-1", true),
            ("assets/cloakroom-validation-a1/x", false),
        ] {
            #expect(own.hold(key) == expected, "\(key)")
        }
        #expect(try self.own("").formerCanaries == nil)
    }

    @Test func `users' folders in the bucket itself meet whatever is not reserved`() {
        let users = UserFolders(["", "photos/"], reserved: ["assets/"])
        for (prefix, expected) in [
            ("", ["", "photos/"]), ("assets/", []), ("assets/a", []), ("asset", [""]), ("u_1/", [""]),
            ("photos/", ["photos/"]), ("ca0", [""]),
        ] {
            #expect(users.met(by: prefix) == expected, "\(prefix)")
        }
        for (key, expected) in [
            ("u_1/a", true), ("assets/a", false), ("photos/u_1/a", true), ("photos/a", false), ("a.bin", false),
            // One character with the slash before it.
            ("photos/u_1/\u{301}a", true), ("u_1/\u{301}a", true), ("assets/\u{301}a", false),
        ] {
            #expect(users.hold(key) == expected, "\(key)")
        }
    }

    @Test func `objects of a validation are no client's to renew`() throws {
        let settings = try settings(smallest("renewal: {keys: 'any', allowAnyOwner: true}"))
        let plan = LifecycleValidation.Plan(
            id: "a1", bucket: settings.bucket, ownsBucket: false, days: 30, clock: ExpirationClock(), grace: .zero,
            pairs: 1,
            started: .distantPast)
        for object in LifecycleValidation(plan).objects {
            #expect(settings.ownObjects.hold(object.key))
            #expect(KeyRules(settings.renewal).decision(object.key, in: nil) == .outsideFolders)
        }
    }
}
