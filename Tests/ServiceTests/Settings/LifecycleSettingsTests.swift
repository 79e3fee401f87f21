import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct LifecycleSettingsTests {
    private func faults(_ more: String) -> [String] {
        do throws(SettingsErrors) {
            _ = try settings(smallest(more))
            return []
        } catch {
            return error.faults.map(\.path)
        }
    }

    @Test func `the prefixes are those of the settings, else the one of the former setting, else that of uploads`()
        throws
    {
        for (more, expected) in [
            ("", [""]), ("uploads: {keyPrefix: 'assets/'}", ["assets/"]),
            ("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefix: ''}", [""]),
            ("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['assets/', 'ca0']}", ["assets/", "ca0"]),
        ] {
            #expect(try settings(smallest(more)).lifecycle.prefixes == expected, "\(more)")
        }
    }

    @Test func `both settings together are refused`() {
        #expect(faults("lifecycle: {prefix: '', prefixes: ['']}") == ["lifecycle.prefix"])
    }

    @Test func `uploads have to be under a prefix, and no other place`() {
        #expect(faults("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['other/']}") == ["lifecycle.prefixes"])
        #expect(faults("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefix: 'other/'}") == ["lifecycle.prefix"])
        #expect(
            faults("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['assets/']}, renewal: {keyPrefix: ''}")
                == [])
        // New names are hexadecimal: these are all of them.
        let digits = "0123456789abcdef".map { "'\($0)'" }
        #expect(faults("lifecycle: {prefixes: [\(digits.joined(separator: ", "))]}") == [])
        #expect(
            faults("lifecycle: {prefixes: [\(digits.dropLast().joined(separator: ", "))]}") == ["lifecycle.prefixes"])
    }

    @Test func `a prefix within another, and what begins no key of ours, are refused`() {
        #expect(faults("lifecycle: {prefixes: ['', 'ca0']}") == ["lifecycle.prefixes"])
        #expect(faults("lifecycle: {prefixes: ['', '']}") == ["lifecycle.prefixes"])
        for prefix in ["/a", "a//b", "../a", "a/*", String(repeating: "a", count: 201)] {
            #expect(faults("lifecycle: {prefixes: ['', '\(prefix)']}") == ["lifecycle.prefixes[1]"], "\(prefix)")
        }
    }

    @Test func `a prefix may hold a folder of Cloakroom's own, or begin as one`() {
        for prefixes in ["''", "'assets/', 'cloakroom-canaries/', 'cloakroom-canary'", "'as', 'cloakroom-d'"] {
            let found = faults("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: [\(prefixes)]}")
            #expect(found == [], "\(prefixes)")
        }
        // Uploads are not under it, either.
        #expect(faults("lifecycle: {prefix: 'cloakroom-doctor/'}") == ["lifecycle.prefix", "lifecycle.prefix"])
    }

    @Test func `check says when the bucket drops parts of uploads that the worker still takes`() throws {
        func warnings(_ uploads: String, days: Int) throws -> [SettingsReview.Remark] {
            let settings = try settings(
                smallest("uploads: {\(uploads)}, lifecycle: {abortMultipartDays: \(days)}"))
            return SettingsReview(settings).warnings
        }
        let keys = "idKeys: [{env: 'SIGNING'}]"
        #expect(
            try warnings("\(keys), multipartLifetimeSeconds: 172801", days: 2) == [
                SettingsReview.Remark(
                    text: "uploads.multipartLifetimeSeconds is 172801, but the bucket's rule drops the parts of"
                        + " unfinished uploads after 2 days (lifecycle.abortMultipartDays)",
                    advice: "give lifecycle.abortMultipartDays: 3 or more, or a shorter lifetime")
            ])
        #expect(try warnings("\(keys), multipartLifetimeSeconds: 172800", days: 2).isEmpty)
        #expect(try warnings("multipartLifetimeSeconds: 604800", days: 1).isEmpty)
    }

    @Test func `check says which rules would match users' folders, and which places expire never`() throws {
        let whole = SettingsReview(try settings(smallest()))
        #expect(whole.errors.count == 1 && whole.warnings.isEmpty)
        let beside = "uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['assets/']}"
        let review = SettingsReview(try settings(smallest(beside)))
        #expect(review.errors.isEmpty)
        #expect(
            review.warnings.map(\.text) == [
                "what is renewed in the bucket itself (renewal.keyPrefix is \"\") never expires: none of lifecycle.prefixes is for it"
            ])
        let within = "uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['assets/', 'photos/u_1']}"
        #expect(SettingsReview(try settings(smallest(within))).errors.first?.text.contains("photos/u_1") == true)
        let wanted = "lifecycle: {expiresUserFolders: true}"
        #expect(SettingsReview(try settings(smallest(wanted))).errors.isEmpty)
    }

    @Test func `check says what the policies have to allow, each place once`() throws {
        for (more, expected) in [
            ("", "arn:aws:s3:::photos/* (uploads.keyPrefix), and deny users' folders"),
            (
                "uploads: {keyPrefix: 'assets/'}, renewal: {keyPrefix: 'assets/', formerPrefixes: ['old/']}",
                "arn:aws:s3:::photos/assets/* (uploads.keyPrefix), arn:aws:s3:::photos/old/* (renewal.formerPrefixes),"
                    + " and deny users' folders"
            ),
            (
                "uploads: {keyPrefix: 'assets/'}, renewal: {keyPrefix: ''}",
                "arn:aws:s3:::photos/* (renewal.keyPrefix), and deny users' folders"
            ),
            (
                "uploads: {keyPrefix: 'assets/'}, renewal: {requireOwnPrefix: true}",
                "arn:aws:s3:::photos/* (users renew in their own folders)"
            ),
        ] {
            #expect(SettingsReview(try settings(smallest(more))).policies == "Policies allow: " + expected, "\(more)")
        }
    }

    @Test(arguments: [
        ("", "", "Policies stay as they are"),
        (
            "uploads: {keyPrefix: 'assets/'}, renewal: {keyPrefix: 'assets/'}",
            "uploads: {keyPrefix: 'assets/new/'}, renewal: {keyPrefix: 'assets/'}",
            "Policies stay as they are"
        ),
        (
            "uploads: {keyPrefix: 'assets/'}, renewal: {keyPrefix: 'assets/'}",
            "uploads: {keyPrefix: 'media/'}, renewal: {keyPrefix: 'media/', formerPrefixes: ['assets/']}",
            "Policies have to allow besides: arn:aws:s3:::photos/media/* (uploads.keyPrefix)"
        ),
        (
            "uploads: {keyPrefix: 'a/'}, renewal: {keyPrefix: 'a/'}",
            "uploads: {keyPrefix: 'b/'}, renewal: {keyPrefix: 'b/'}",
            "Policies have to allow besides: arn:aws:s3:::photos/b/* (uploads.keyPrefix)\n"
                + "Policies need not allow any more: arn:aws:s3:::photos/a/* (uploads.keyPrefix)"
        ),
    ])
    func `check says what changed settings need of the policies`(old: String, new: String, expected: String) throws {
        let change = SettingsReview.policyChange(from: try settings(smallest(old)), to: try settings(smallest(new)))
        #expect(change == expected)
    }
}
