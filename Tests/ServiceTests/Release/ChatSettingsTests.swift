import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// What settings of images of chats go together.
struct ChatSettingsTests {
    private func chat(_ uploads: String, more: String = "", lifecycle: String = "'assets/'") -> String {
        """
        uploads: {keyPrefix: 'assets/', \(uploads)}, lifecycle: {prefixes: [\(lifecycle)]},
        release: {keys: [{env: 'SIGNING'}]}\(more)
        """
    }

    @Test func `are off unless they have a prefix`() throws {
        let settings = try settings(smallest())
        #expect(settings.uploads.chat == nil && settings.renewal.chatKeyPrefix == nil && settings.chatPrefix == nil)
        #expect(settings.limits.release.quota == 60 && settings.limits.releaseKeys.quota == 6000)
    }

    @Test func `have a prefix, days, a mode and keys`() throws {
        let some = try #require(try settings(smallest(chat("chatKeyPrefix: 'chats/'"))).uploads.chat)
        #expect(some.keyPrefix == "chats/" && some.retentionDays == 30 && some.mode == .delete && some.keys.count == 1)
        let more = """
            uploads: {keyPrefix: 'assets/', chatKeyPrefix: 'chats/', chatRetentionDays: 8},
            lifecycle: {prefixes: ['assets/']}, release: {mode: 'tag', keys: [{env: 'SIGNING'}, {env: 'SIGNING'}]}
            """
        let other = try #require(try settings(smallest(more)).uploads.chat)
        #expect(other.retentionDays == 8 && other.mode == .tag && other.keys.count == 2)
    }

    @Test(arguments: [
        ("chatKeyPrefix: ''", "is empty: the worker could delete the whole bucket"),
        ("chatKeyPrefix: 'assets/'", "is \"assets/\", which is not beside \"assets/\" of uploads.keyPrefix"),
        (
            "chatKeyPrefix: 'assets/chats/'",
            "is \"assets/chats/\", which is not beside \"assets/\" of uploads.keyPrefix"
        ),
        ("chatKeyPrefix: 'photos/chats/'", "is \"photos/chats/\", which is not beside \"photos/\" of vending.prefixes"),
        ("chatKeyPrefix: 'metadata/'", "is \"metadata/\", which is not beside \"metadata/\" of vending.prefixes"),
    ])
    func `lie beside all other prefixes`(uploads: String, cause: String) {
        let faults = settingsFaults(smallest(chat(uploads)))
        #expect(faults == ["uploads.chatKeyPrefix: \(cause); give a prefix of its own, such as chats/"])
    }

    @Test func `hold no former place of assets`() {
        let faults = settingsFaults(
            smallest(chat("chatKeyPrefix: 'chats/'", more: ", renewal: {formerPrefixes: ['chats/old/']}")))
        #expect(
            faults == [
                "uploads.chatKeyPrefix: is \"chats/\", which is not beside \"chats/old/\" of renewal.formerPrefixes;"
                    + " give a prefix of its own, such as chats/"
            ])
    }

    @Test func `have one rule alone`() {
        let faults = settingsFaults(smallest(chat("chatKeyPrefix: 'chats/'", lifecycle: "'assets/', 'ch'")))
        #expect(
            faults == [
                "uploads.chatKeyPrefix: is \"chats/\", but lifecycle.prefixes has \"ch\" for the same objects: their end"
                    + " is uploads.chatRetentionDays alone; take \"ch\" out, or give another prefix"
            ])
        let whole = settingsFaults(
            smallest("uploads: {chatKeyPrefix: 'chats/'}, release: {keys: [{env: 'SIGNING'}]}"))
        #expect(whole.count == 1 && whole[0].contains("lifecycle.prefixes has \"\" for the same objects"))
        #expect(whole[0].contains("cloakroom lifecycle plan-prefixes"))
    }

    @Test func `need keys, and keys need them`() {
        #expect(
            settingsFaults(
                smallest("uploads: {keyPrefix: 'assets/', chatKeyPrefix: 'chats/'}, lifecycle: {prefixes: ['assets/']}")
            )
                == [
                    "release.keys: is missing, while uploads.chatKeyPrefix is given; give a secret made with: openssl"
                        + " rand -base64 32"
                ])
        #expect(
            settingsFaults(smallest("release: {keys: [{env: 'SIGNING'}]}"))
                == ["release.keys: stands without uploads.chatKeyPrefix; give both, or neither"])
    }

    @Test func `take no published and no short secret`() throws {
        let text = smallest(chat("chatKeyPrefix: 'chats/'")).replacing(
            "keys: [{env: 'SIGNING'}]", with: "keys: [{file: 'key'}]")
        for (secret, cause) in [
            ("short", "is shorter than 32 bytes"),
            ("your-256-bit-secret-your-256-bit-secret", "is, or is made of, a well-known example"),
        ] {
            let faults = settingsFaults(text, files: ["/etc/cloakroom/key": secret])
            #expect(faults.count == 1 && faults[0].hasPrefix("release.keys[0]: \(cause)"), "\(faults)")
        }
    }

    @Test func `are in no folder of Cloakroom's own`() {
        let faults = settingsFaults(smallest(chat("chatKeyPrefix: 'cloakroom-canary/'")))
        #expect(faults.count == 1 && faults[0].contains("is reserved for Cloakroom's own objects"))
    }

    @Test func `are no user's folder where users have the bucket itself`() throws {
        let settings = try settings(smallest(chat("chatKeyPrefix: 'chats/'"), vending: "prefixes: ['']"))
        #expect(settings.reservedUserIDs.components.contains { $0.id == "chats" })
        #expect(settings.userFolders.met(by: "chats/") == [])
    }

    /// By the paths at which the settings name them.
    private func secrets(_ first: FirstSettings) -> [String: String] {
        let files = first.secrets().map { ("/etc/cloakroom/\($0.path)", $0.secret.reveal()) }
        return Dictionary(uniqueKeysWithValues: files)
    }

    @Test func `are what init writes with chats, and not without`() throws {
        var first = FirstSettings(.aws)
        first.chats = true
        let with = try settings(first.text, files: secrets(first))
        #expect(with.uploads.chat?.keyPrefix == "chats/" && with.uploads.chat?.mode == .delete)
        first.chats = false
        let files = secrets(first)
        #expect(!files.keys.contains("/etc/cloakroom/secrets/release"))
        #expect(try settings(first.text, files: files).uploads.chat == nil)
    }

    @Test func `are named among what the policies allow, with all actions of their mode`() throws {
        let off = try settings(smallest(chat("chatKeyPrefix: 'chats/'")))
        let plain = try settings(smallest("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['assets/']}"))
        let place =
            "arn:aws:s3:::photos/chats/* with s3:GetObject, s3:PutObject, s3:AbortMultipartUpload,"
            + " s3:ListMultipartUploadParts and s3:DeleteObject (uploads.chatKeyPrefix, deploy/iam/release-policy.json)"
        #expect(SettingsReview(off).policies.contains(place))
        #expect(!SettingsReview(plain).policies.contains("release-policy"))
        #expect(SettingsReview.policyChange(from: plain, to: off) == "Policies have to allow besides: \(place)")
        #expect(SettingsReview.policyChange(from: off, to: off) == "Policies stay as they are")
    }

    /// What is behind the former prefix is read until its rule ends it.
    @Test(arguments: [nil, "images/"])
    func `the policies allow an earlier prefix until all behind it has ended`(prefix: String?) throws {
        let former = try settings(smallest(chat("chatKeyPrefix: 'chats/', chatRetentionDays: 14")))
        let new =
            try prefix.map { try settings(smallest(chat("chatKeyPrefix: '\($0)', chatRetentionDays: 14"))) }
            ?? settings(smallest("uploads: {keyPrefix: 'assets/'}, lifecycle: {prefixes: ['assets/']}"))
        let change = SettingsReview.policyChange(from: former, to: new)
        #expect(change.contains("\n") == (prefix != nil))
        #expect(
            change.split(separator: "\n").last.map(String.init)
                == "Policies of the worker and of the CDN still have to allow arn:aws:s3:::photos/chats/*"
                + " (uploads.chatKeyPrefix, deploy/iam/release-policy.json) until 16 days after every worker runs with the"
                + " new settings: images there are read until then. Its lifecycle rules and the CDN's behavior without"
                + " caching have to stay as long")
    }

    @Test func `the policies allow the action of an earlier mode until every worker has the new one`() throws {
        func mode(_ mode: String) throws -> Settings {
            try settings(
                smallest(
                    """
                    uploads: {keyPrefix: 'assets/', chatKeyPrefix: 'chats/'}, lifecycle: {prefixes: ['assets/']},
                    release: {mode: '\(mode)', keys: [{env: 'SIGNING'}]}
                    """))
        }
        #expect(
            SettingsReview.policyChange(from: try mode("tag"), to: try mode("delete"))
                == "Policies have to allow besides: arn:aws:s3:::photos/chats/* with s3:DeleteObject"
                + " (uploads.chatKeyPrefix, deploy/iam/release-policy.json)\n"
                + "Policies still have to allow arn:aws:s3:::photos/chats/* with s3:PutObjectTagging"
                + " (uploads.chatKeyPrefix, deploy/iam/release-tag-policy.json) until every worker runs with the new"
                + " settings")
    }
}
