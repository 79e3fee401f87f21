import Foundation
import Testing

extension EndToEnd {
    /// The commands that put and check the bucket's rules, on a store whose days are seconds.
    @Suite struct Lifecycle {
        @Test func `what is wrong with the bucket's rules is said, put right, and other rules stay`() throws {
            try FastStore.run("rules") { store, folder in
                let settings = try store.settings(folder)
                let bare = try store.lifecycle(["verify", "--json", settings])
                #expect(bare.status == 1 && bare.text.contains(#""code":"no_expiration""#))
                let other =
                    "<Rule><ID>tmp</ID><Filter><Prefix>tmp/</Prefix></Filter><Status>Enabled</Status>"
                    + "<Expiration><Days>3</Days></Expiration></Rule>"
                let short =
                    "<Rule><ID>short</ID><Filter/><Status>Enabled</Status>"
                    + "<Expiration><Days>3</Days></Expiration></Rule>"
                let put = try store.ask(
                    "PUT", "/\(SeaweedFS.bucket)?lifecycle=",
                    body: "<LifecycleConfiguration>\(other)\(short)</LifecycleConfiguration>")
                #expect(put.status == 200, "\(put.told)")
                let early = try store.lifecycle(["verify", settings])
                #expect(early.status == 1 && early.text.contains("objects expire 3 days after they were written"))
                let shown = try store.lifecycle(["apply", "--dry-run", settings])
                #expect(shown.status == 0 && shown.text.contains("- \"short\"") && shown.text.contains("  \"tmp\""))
                // Nobody is there to be asked.
                #expect(try store.lifecycle(["apply", settings]).status == 1)
                #expect(try store.lifecycle(["verify", settings]).text == early.text)
                // The other rule is in the way, and that is said.
                let applied = try store.lifecycle(["apply", "--yes", settings])
                #expect(applied.status == 1 && applied.text.contains("the rule \"tmp\" expires objects under tmp/"))
                #expect(try store.ask("GET", "/\(SeaweedFS.bucket)?lifecycle=").text.contains("<ID>tmp</ID>"))
                #expect(try store.lifecycle(["apply", "--yes", "--replace", settings]).status == 0)
                #expect(try store.lifecycle(["verify", settings]).status == 0)
                let story = try store.lifecycle(["show", settings])
                #expect(story.status == 0 && story.text.contains("A renewal before then"))
            }
        }

        @Test func `rules for users' folders are neither put nor overlooked, and a worker starts all the same`() throws
        {
            try FastStore.run("user-folders") { store, folder in
                let whole = try store.settings(folder) { $0["lifecycle.expiresUserFolders"] = nil }
                for options in [["--yes"], ["--dry-run"]] {
                    let refused = try store.lifecycle(["apply", whole] + options)
                    #expect(refused.status == 1 && refused.text.contains("photos/"), "\(refused.text)")
                }
                #expect(try store.ask("GET", "/\(SeaweedFS.bucket)?lifecycle=").status == 404)
                let check = try Command(["check", whole], environment: store.environment)
                #expect(check.status == 0 && check.text.contains("error: lifecycle.prefixes has \"\""), "\(check.text)")
                #expect(try Command(["check", "--strict", whole], environment: store.environment).status == 1)
                let former =
                    "<Rule><ID>expire-after-30-days</ID><Filter/><Status>Enabled</Status>"
                    + "<Expiration><Days>30</Days></Expiration></Rule>"
                let put = try store.ask(
                    "PUT", "/\(SeaweedFS.bucket)?lifecycle=",
                    body: "<LifecycleConfiguration>\(former)</LifecycleConfiguration>")
                #expect(put.status == 200, "\(put.told)")
                let settings = try store.settings(folder) {
                    $0["lifecycle"] = ["prefixes": ["assets/", "ca0"]] as [String: Any]
                    $0["uploads.keyPrefix"] = "assets/"
                }
                let found = try store.lifecycle(["verify", "--json", settings])
                #expect(found.status == 1 && found.text.contains(#""code":"user_folders""#), "\(found.text)")
                let applied = try store.lifecycle(["apply", "--yes", settings])
                #expect(applied.status == 0, "\(applied.text)")
                #expect(applied.text.contains("- \"expire-after-30-days\", for every object"), "\(applied.text)")
                #expect(applied.text.contains("+ \"expire-after-30-days-assets/\""), "\(applied.text)")
                #expect(try store.lifecycle(["verify", settings]).status == 0)
                #expect(try store.lifecycle(["apply", "--yes", settings]).text.contains("there already"))
                #expect(try store.lifecycle(["canary", "--name", "h1", "--day-length", "4s", settings]).status == 0)
                let keys = try store.ask(
                    "GET", "/\(SeaweedFS.bucket)?list-type=2&prefix=assets%2Fcloakroom-canary%2Fh1%2F")
                #expect(keys.text.contains("<Key>assets/cloakroom-canary/h1/ledger.json</Key>"), "\(keys.text)")
            }
        }

        @Test func `apply counts what would go and what would stay, and renew saves what is old`() throws {
            try FastStore.run("count") { store, folder in
                func put(_ key: String) throws {
                    #expect(try store.ask("PUT", "/\(SeaweedFS.bucket)/\(key)", body: "four").status == 200)
                }
                let settings = try store.settings(folder) {
                    $0["lifecycle"] = ["prefixes": ["assets/"]] as [String: Any]
                    $0["uploads.keyPrefix"] = "assets/"
                    $0["renewal.minimumAgeSeconds"] = 0
                    $0["renewal.retentionDays"] = 1
                }
                for key in ["assets/a.bin", "assets/b.bin", "photos/u_1/a.jpg", "old.bin"] { try put(key) }
                // The store's days are seconds, the command's are days: with one, all goes within two.
                let later = try store.lifecycle(["apply", "--dry-run", settings])
                #expect(later.status == 0, "\(later.text)")
                #expect(later.text.contains("2 objects would newly expire later: 8 bytes; the oldest is assets/"))
                let whole =
                    "<Rule><ID>expire-after-9-days</ID><Filter/><Status>Enabled</Status>"
                    + "<Expiration><Days>9000</Days></Expiration></Rule>"
                let rule = try store.ask(
                    "PUT", "/\(SeaweedFS.bucket)?lifecycle=",
                    body: "<LifecycleConfiguration>\(whole)</LifecycleConfiguration>")
                #expect(rule.status == 200, "\(rule.told)")
                let refused = try store.lifecycle(["apply", "--yes", settings])
                #expect(refused.status == 1 && refused.text.contains("2 objects would no longer expire: 8 bytes"))
                #expect(refused.text.contains("--stop-expiring") && !refused.text.contains("--delete-existing"))
                #expect(try store.ask("GET", "/\(SeaweedFS.bucket)?lifecycle=").text.contains("9000"))
                let listing = "/\(SeaweedFS.bucket)?list-type=2&prefix=assets%2Fa.bin"
                let before = try store.ask("GET", listing).text
                #expect(before.contains("<Key>assets/a.bin</Key>"))
                try "assets/a.bin\nassets/none.bin\nphotos/u_1/a.jpg\n".write(
                    toFile: "\(folder)/keys", atomically: true, encoding: .utf8)
                usleep(1_100_000)
                let words = ["renew", "--from-list", "\(folder)/keys", "--state", "\(folder)/renew.state", settings]
                let renewed = try Command(words, environment: store.environment)
                // The list names what is to be saved: what is not is told.
                #expect(renewed.status == 1, "\(renewed.text)")
                #expect(renewed.text.contains("1 renewed or young enough, 1 gone, 0 refused, 1 left alone"))
                for line in ["assets/none.bin: gone", "photos/u_1/a.jpg: left alone"] {
                    #expect(renewed.text.contains(line), "\(renewed.text)")
                }
                #expect(try store.ask("GET", listing).text != before)
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/renew.state"))
                let older = try Command(
                    ["renew", "--older-than", "1s", "--prefix", "assets/", "--state", "\(folder)/s", settings],
                    environment: store.environment)
                #expect(older.status == 0 && older.text.contains(" renewed or young enough, 0 gone"), "\(older.text)")
                for prefix in ["asets/", "photos/"] {
                    let none = try Command(
                        ["renew", "--older-than", "1s", "--prefix", prefix, "--state", "\(folder)/s", settings],
                        environment: store.environment)
                    #expect(none.status == 1, "\(none.text)")
                    #expect(none.text.contains("nothing to renew under \"\(prefix)\""), "\(none.text)")
                }
                #expect(try store.lifecycle(["apply", "--yes", "--stop-expiring", settings]).status == 0)
                for wrong in [
                    [], ["--from-list", "x", "--older-than", "2d"], ["--older-than", "2x", "--prefix", "a"],
                ] {
                    #expect(try Command(["renew"] + wrong + [settings], environment: store.environment).status == 2)
                }
            }
        }

        @Test func `what a rule for another folder would delete later is said by prefix, and can be taken back`() throws
        {
            try FastStore.run("later") { store, folder in
                for key in ["assets/a.bin", "backups/x.tar", "backups/y.tar"] {
                    #expect(try store.ask("PUT", "/\(SeaweedFS.bucket)/\(key)", body: "four").status == 200)
                }
                func settings(_ prefixes: [String]) throws -> String {
                    try store.settings(folder) {
                        $0["lifecycle"] = ["prefixes": prefixes] as [String: Any]
                        $0["uploads.keyPrefix"] = "assets/"
                    }
                }
                let applied = try store.lifecycle(["apply", "--yes", try settings(["assets/", "backups/"])])
                #expect(applied.status == 0, "\(applied.text)")
                #expect(applied.text.contains("3 objects would newly expire later: 12 bytes"), "\(applied.text)")
                #expect(
                    applied.text.contains(
                        #/2 of them under "backups/" \(NO PLACE OF ASSETS by the settings\), the first expires at 20[0-9T:-]*Z: 8 /#
                    ),
                    "\(applied.text)")
                #expect(applied.text.contains("1 of them under \"assets/\", the first expires"), "\(applied.text)")
                let back = "cloakroom lifecycle apply --stop-expiring \(folder)/settings.json5"
                #expect(applied.text.contains(back), "\(applied.text)")
                let undone = try store.lifecycle(["apply", "--yes", "--stop-expiring", try settings(["assets/"])])
                #expect(
                    undone.status == 0 && undone.text.contains("2 objects would no longer expire"), "\(undone.text)")
                #expect(try !store.ask("GET", "/\(SeaweedFS.bucket)?lifecycle=").text.contains("backups/"))
            }
        }

        @Test func `suspend disables the rule, the rules of others stay, and apply enables it again`() throws {
            try FastStore.run("suspend") { store, folder in
                let settings = try store.settings(folder)
                #expect(try store.lifecycle(["apply", "--yes", settings]).status == 0)
                let shown = try store.lifecycle(["suspend", "--dry-run", settings])
                #expect(shown.status == 0 && shown.text.contains("1 rule to suspend"), "\(shown.text)")
                #expect(try store.lifecycle(["suspend", settings]).status == 1)
                #expect(try store.lifecycle(["verify", settings]).status == 0)
                let suspended = try store.lifecycle(["suspend", "--yes", settings])
                #expect(suspended.status == 0 && suspended.text.contains("Terraform"), "\(suspended.text)")
                let verified = try store.lifecycle(["verify", settings])
                #expect(verified.status == 1 && verified.text.contains("but is disabled"), "\(verified.text)")
                let again = try store.lifecycle(["suspend", "--yes", settings])
                #expect(again.status == 0 && again.text.contains("nothing to suspend"), "\(again.text)")
                #expect(try store.lifecycle(["apply", "--yes", settings]).status == 0)
                #expect(try store.lifecycle(["verify", settings]).status == 0)
            }
        }

        /// What Terraform's `retention_days = null` and CloudFormation's `RetentionDays: 0` give.
        @Test func `where nothing is to expire, apply takes its rule back, and all are content`() throws {
            try FastStore.run("never") { store, folder in
                #expect(try store.ask("PUT", "/\(SeaweedFS.bucket)/assets/a.bin", body: "four").status == 200)
                func settings(_ days: Any) throws -> String {
                    try store.settings(folder) {
                        $0["lifecycle"] = ["prefixes": ["assets/"]] as [String: Any]
                        $0["uploads.keyPrefix"] = "assets/"
                        $0["renewal.retentionDays"] = days
                    }
                }
                #expect(try store.lifecycle(["apply", "--yes", try settings(9000)]).status == 0)
                let never = try settings(NSNull())
                let wrong = try store.lifecycle(["verify", never])
                #expect(wrong.status == 1 && wrong.text.contains("renewal.retentionDays is null"), "\(wrong.text)")
                let refused = try store.lifecycle(["apply", "--yes", never])
                #expect(refused.status == 1 && refused.text.contains("--stop-expiring"), "\(refused.text)")
                let applied = try store.lifecycle(["apply", "--yes", "--stop-expiring", never])
                #expect(applied.status == 0, "\(applied.text)")
                let rules = try store.ask("GET", "/\(SeaweedFS.bucket)?lifecycle=").text
                #expect(rules.contains("<ID>clean-up</ID>") && !rules.contains("<Days>9000</Days>"), "\(rules)")
                let good = try store.lifecycle(["verify", never])
                #expect(good.status == 0 && good.text.contains("nothing expires, renewed or not"), "\(good.text)")
                let canary = try store.lifecycle(["canary", "--textfile", "\(folder)/canary.prom", never])
                #expect(canary.status == 0 && canary.text.contains("nothing to prove"), "\(canary.text)")
                let metrics = try String(contentsOfFile: "\(folder)/canary.prom", encoding: .utf8)
                #expect(metrics.contains("cloakroom_canary_last_run_timestamp_seconds "), "\(metrics)")
                let keys = try store.ask("GET", "/\(SeaweedFS.bucket)?list-type=2")
                #expect(!keys.text.contains("cloakroom-canary/"), "\(keys.text)")
            }
        }

        @Test func `a rule for names in the bucket itself that matches other objects is refused`() throws {
            try FastStore.run("others") { store, folder in
                for key in ["assets/a.bin", "b0123456789abcdef0123456789abcde.bin", "backups/db-1.sql"] {
                    #expect(try store.ask("PUT", "/\(SeaweedFS.bucket)/\(key)", body: "four").status == 200)
                }
                let settings = try store.settings(folder) {
                    $0["lifecycle"] = ["prefixes": ["assets/", "b"]] as [String: Any]
                    $0["uploads.keyPrefix"] = "assets/"
                }
                let refused = try store.lifecycle(["apply", "--yes", settings])
                #expect(refused.status == 1 && refused.text.contains("--expire-other-objects"), "\(refused.text)")
                #expect(refused.text.contains("1 of these objects are no assets by their keys"), "\(refused.text)")
                #expect(refused.text.contains("the oldest is backups/db-1.sql"), "\(refused.text)")
                #expect(try store.ask("GET", "/\(SeaweedFS.bucket)?lifecycle=").status == 404)
                let applied = try store.lifecycle(["apply", "--yes", "--expire-other-objects", settings])
                #expect(applied.status == 0, "\(applied.text)")
            }
        }

        @Test func `a plan of prefixes tells of other folders in the bucket, and leaves out those to keep`() throws {
            try FastStore.run("plan-prefixes") { store, folder in
                for key in [
                    "assets/a.bin", "backups/x.tar", "photos/u_1/a.jpg", "dad.jpg",
                    "\(String(repeating: "e", count: 32)).bin",
                ] {
                    #expect(try store.ask("PUT", "/\(SeaweedFS.bucket)/\(key)", body: "four").status == 200)
                }
                let settings = try store.settings(folder) {
                    $0["uploads.keyPrefix"] = "assets/"
                    $0["lifecycle.expiresUserFolders"] = nil
                }
                let found = try store.lifecycle(["plan-prefixes", settings])
                #expect(found.status == 1 && found.text.contains(#"under "b": "backups/""#), "\(found.text)")
                #expect(found.text.contains(#"under "d": 1 object with other names than assets', such as "dad.jpg""#))
                #expect(!found.text.contains(#"under "e":"#) && found.text.contains("--keep FOLDER/"))
                #expect(try store.lifecycle(["plan-prefixes", "--offline", settings]).status == 0)
                for wrong in ["backups", "/backups/", "backups/, exports/"] {
                    #expect(try store.lifecycle(["plan-prefixes", "--keep", wrong, settings]).status == 2, "\(wrong)")
                }
                let within = try store.lifecycle(["plan-prefixes", "--offline", "--keep", "assets/backups/", settings])
                #expect(within.status == 1 && within.text.contains("backups/ is under assets/"), "\(within.text)")
                #expect(try store.ask("DELETE", "/\(SeaweedFS.bucket)/dad.jpg").status == 204)
                let kept = try store.lifecycle(["plan-prefixes", "--keep", "backups/", settings])
                #expect(kept.status == 0 && kept.text.contains("only assets are under them: checked"), "\(kept.text)")
                #expect(!kept.text.contains("is not in the bucket"), "\(kept.text)")
                let typo = try store.lifecycle([
                    "plan-prefixes", "--keep", "backups/,backups/dialy/,bakcups/", settings,
                ])
                #expect(typo.status == 0 && !typo.text.contains("// backups/ is not"), "\(typo.text)")
                for folder in ["backups/dialy/", "bakcups/"] {
                    #expect(typo.text.contains("// \(folder) is not in the bucket: "), "\(typo.text)")
                }
            }
        }
    }
}
