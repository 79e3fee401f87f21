import Foundation
import Testing

extension EndToEnd {
    /// What an operator does for users who tier photos.
    @Suite struct TierOperation {
        private static func put(_ rules: String, _ store: FastStore) throws {
            let put = try store.ask(
                "PUT", "/\(SeaweedFS.bucket)?lifecycle=",
                body: "<LifecycleConfiguration>\(rules)</LifecycleConfiguration>")
            #expect(put.status == 200, "\(put.told)")
        }

        @Test func `verify and doctor confirm that no rule reaches tiered photos, and find one that is added later`()
            throws
        {
            try FastStore.run("tier-rules") { store, folder in
                let settings = try store.settings(folder) { TierSettings.change(&$0) }
                #expect(try store.lifecycle(["apply", "--yes", settings]).status == 0)
                let good = try store.lifecycle(["verify", settings])
                #expect(good.status == 0, "\(good.text)")
                #expect(
                    good.text.contains(
                        "tiered photos: no rule of the bucket deletes or archives what is in photos/USER/, "
                            + "thumbnails/USER/, catalogs/USER/\ntiered photos: versions are not kept"), "\(good.text)")
                func doctor() throws -> Command {
                    try Command(
                        ["doctor", "--settings", settings, "--only", "settings,lifecycle", "--json"],
                        environment: store.environment, within: .seconds(30))
                }
                let healthy = try doctor()
                #expect(healthy.text.contains("tiered photos: no rule of the bucket"), "\(healthy.text)")
                let rules = try store.ask("GET", "/\(SeaweedFS.bucket)?lifecycle=").text
                let ours = try #require(rules.firstMatch(of: /<Rule>.*<\/Rule>/)).0
                try Self.put(
                    ours
                        + "<Rule><ID>large</ID><Filter><ObjectSizeGreaterThan>100000</ObjectSizeGreaterThan></Filter>"
                        + "<Status>Enabled</Status><Transition><Days>90</Days><StorageClass>DEEP_ARCHIVE</StorageClass>"
                        + "</Transition></Rule>", store)
                let late = try store.lifecycle(["verify", "--json", settings])
                let json = try JSONSerialization.jsonObject(with: Data(late.text.utf8)) as? [String: Any]
                let tiered = try #require(json?["tieredPhotos"] as? [String: Any], "\(late.text)")
                #expect(late.status == 1 && tiered["rules"] as? [String] == [#""large""#])
                #expect(tiered["folders"] as? [String] == ["photos/", "thumbnails/", "catalogs/"])
                #expect(tiered["versioning"] as? String == "never on")
                let ill = try doctor()
                #expect(ill.status == 1 && ill.text.contains("may match objects in users' folders"), "\(ill.text)")
                #expect(!ill.text.contains("tiered photos: no rule of the bucket"), "\(ill.text)")
            }
        }

        @Test func `check and doctor say that without catalogs nothing leaves the devices`() throws {
            try FastStore.run("tier-note") { store, folder in
                let settings = try store.settings(folder) {
                    TierSettings.change(&$0)
                    $0["vending.prefixes"] = ["photos", "thumbnails", "metadata"]
                }
                let note = "tiers keep no catalog snapshots, so nothing leaves the devices"
                let check = try Command(["check", "--strict", settings], environment: store.environment)
                #expect(check.status == 0 && check.text.contains("Tiered photo storage: "), "\(check.text)")
                #expect(check.text.contains(note), "\(check.text)")
                let doctor = try Command(
                    ["doctor", "--settings", settings, "--only", "settings", "--json"],
                    environment: store.environment)
                #expect(doctor.text.contains(note), "\(doctor.text)")
                #expect(try store.lifecycle(["verify", "--json", settings]).text.contains(#""tieredPhotos":null"#))
                let complete = try store.settings(folder) { TierSettings.change(&$0) }
                let silent = try Command(["check", complete], environment: store.environment)
                #expect(silent.status == 0 && !silent.text.contains("Tiered photo storage"), "\(silent.text)")
            }
        }

        @Test func `vended credentials read, write, delete and list catalogs of the own user alone`() throws {
            let options = Stack.Options(s3: true) { TierSettings.change(&$0) }
            try Stack.run("tier-scope", options) { stack in
                let full = try Vended(try stack.ask(.vend(Tokens.token(user: "u_tier"))))
                let bucket = "\(try EndToEnd.s3().url)/\(SeaweedFS.bucket)"
                for (key, list, isOwn) in [
                    ("catalogs/u_tier/a.json", "catalogs%2Fu_tier%2F", true),
                    ("catalogs/u_tier0/a.json", "catalogs%2Fu_tier0%2F", false),
                ] {
                    #expect(try full.ask("PUT", "\(bucket)/\(key)").status == (isOwn ? 200 : 403))
                    #expect(try full.ask("GET", "\(bucket)/\(key)").status == (isOwn ? 200 : 403))
                    #expect(try full.ask("GET", "\(bucket)?list-type=2&prefix=\(list)").status == (isOwn ? 200 : 403))
                    #expect(try full.ask("DELETE", "\(bucket)/\(key)").status == (isOwn ? 204 : 403))
                }
            }
        }
    }
}
