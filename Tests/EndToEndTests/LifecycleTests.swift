import Foundation
import CloakroomScriptedS3
import Testing

extension EndToEnd {
    /// The commands that put, check and prove the bucket's rule, on a store whose days are seconds.
    @Suite struct Lifecycle {
        private func withStore(_ name: String, _ body: (FastStore, String) throws -> Void) throws {
            let folder = try RunFolder.make(name)
            let store = try FastStore(folder: folder)
            defer { store.stop() }
            try body(store, folder)
        }

        /// A run of `cloakroom lifecycle` to its end.
        private func run(_ store: FastStore, _ words: [String]) throws -> Command {
            try Command(["lifecycle"] + words, environment: store.environment)
        }

        @Test func `what is wrong with the bucket's rules is said, put right, and other rules stay`() throws {
            try withStore("rules") { store, folder in
                let settings = try store.settings(folder)
                let bare = try run(store, ["verify", "--json", settings])
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
                let early = try run(store, ["verify", settings])
                #expect(early.status == 1 && early.text.contains("objects expire 3 days after they were written"))
                let shown = try run(store, ["apply", "--dry-run", settings])
                #expect(shown.status == 0 && shown.text.contains("- \"short\"") && shown.text.contains("  \"tmp\""))
                // Nobody is there to be asked.
                #expect(try run(store, ["apply", settings]).status == 1)
                #expect(try run(store, ["verify", settings]).text == early.text)
                // The other rule is in the way, and that is said.
                let applied = try run(store, ["apply", "--yes", settings])
                #expect(applied.status == 1 && applied.text.contains("the rule \"tmp\" expires objects under tmp/"))
                #expect(try store.ask("GET", "/\(SeaweedFS.bucket)?lifecycle=").text.contains("<ID>tmp</ID>"))
                #expect(try run(store, ["apply", "--yes", "--replace", settings]).status == 0)
                #expect(try run(store, ["verify", settings]).status == 0)
                let story = try run(store, ["show", settings])
                #expect(story.status == 0 && story.text.contains("A renewal before then"))
            }
        }

        @Test func `rules for users' folders are neither put nor overlooked, and a worker starts all the same`() throws
        {
            try withStore("user-folders") { store, folder in
                let whole = try store.settings(folder) { $0["lifecycle.expiresUserFolders"] = nil }
                for options in [["--yes"], ["--dry-run"]] {
                    let refused = try run(store, ["apply", whole] + options)
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
                let found = try run(store, ["verify", "--json", settings])
                #expect(found.status == 1 && found.text.contains(#""code":"user_folders""#), "\(found.text)")
                let applied = try run(store, ["apply", "--yes", settings])
                #expect(applied.status == 0, "\(applied.text)")
                #expect(applied.text.contains("- \"expire-after-30-days\", for every object"), "\(applied.text)")
                #expect(applied.text.contains("+ \"expire-after-30-days-assets/\""), "\(applied.text)")
                #expect(try run(store, ["verify", settings]).status == 0)
                #expect(try run(store, ["apply", "--yes", settings]).text.contains("there already"))
                #expect(try run(store, ["canary", "--name", "h1", "--day-length", "4s", settings]).status == 0)
                let keys = try store.ask(
                    "GET", "/\(SeaweedFS.bucket)?list-type=2&prefix=assets%2Fcloakroom-canary%2Fh1%2F")
                #expect(keys.text.contains("<Key>assets/cloakroom-canary/h1/ledger.json</Key>"), "\(keys.text)")
            }
        }

        @Test func `apply counts what would go and what would stay, and renew saves what is old`() throws {
            try withStore("count") { store, folder in
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
                let later = try run(store, ["apply", "--dry-run", settings])
                #expect(later.status == 0, "\(later.text)")
                #expect(later.text.contains("2 objects would newly expire later: 8 bytes; the oldest is assets/"))
                let whole =
                    "<Rule><ID>expire-after-9-days</ID><Filter/><Status>Enabled</Status>"
                    + "<Expiration><Days>9000</Days></Expiration></Rule>"
                let rule = try store.ask(
                    "PUT", "/\(SeaweedFS.bucket)?lifecycle=",
                    body: "<LifecycleConfiguration>\(whole)</LifecycleConfiguration>")
                #expect(rule.status == 200, "\(rule.told)")
                let refused = try run(store, ["apply", "--yes", settings])
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
                #expect(try run(store, ["apply", "--yes", "--stop-expiring", settings]).status == 0)
                for wrong in [
                    [], ["--from-list", "x", "--older-than", "2d"], ["--older-than", "2x", "--prefix", "a"],
                ] {
                    #expect(try Command(["renew"] + wrong + [settings], environment: store.environment).status == 2)
                }
            }
        }

        @Test func `what a rule for another folder would delete later is said by prefix, and can be taken back`() throws
        {
            try withStore("later") { store, folder in
                for key in ["assets/a.bin", "backups/x.tar", "backups/y.tar"] {
                    #expect(try store.ask("PUT", "/\(SeaweedFS.bucket)/\(key)", body: "four").status == 200)
                }
                func settings(_ prefixes: [String]) throws -> String {
                    try store.settings(folder) {
                        $0["lifecycle"] = ["prefixes": prefixes] as [String: Any]
                        $0["uploads.keyPrefix"] = "assets/"
                    }
                }
                let applied = try run(store, ["apply", "--yes", try settings(["assets/", "backups/"])])
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
                let undone = try run(store, ["apply", "--yes", "--stop-expiring", try settings(["assets/"])])
                #expect(
                    undone.status == 0 && undone.text.contains("2 objects would no longer expire"), "\(undone.text)")
                #expect(try !store.ask("GET", "/\(SeaweedFS.bucket)?lifecycle=").text.contains("backups/"))
            }
        }

        @Test func `a rule for names in the bucket itself that matches other objects is refused`() throws {
            try withStore("others") { store, folder in
                for key in ["assets/a.bin", "b0123456789abcdef0123456789abcde.bin", "backups/db-1.sql"] {
                    #expect(try store.ask("PUT", "/\(SeaweedFS.bucket)/\(key)", body: "four").status == 200)
                }
                let settings = try store.settings(folder) {
                    $0["lifecycle"] = ["prefixes": ["assets/", "b"]] as [String: Any]
                    $0["uploads.keyPrefix"] = "assets/"
                }
                let refused = try run(store, ["apply", "--yes", settings])
                #expect(refused.status == 1 && refused.text.contains("--expire-other-objects"), "\(refused.text)")
                #expect(refused.text.contains("1 of these objects are no assets by their keys"), "\(refused.text)")
                #expect(refused.text.contains("the oldest is backups/db-1.sql"), "\(refused.text)")
                #expect(try store.ask("GET", "/\(SeaweedFS.bucket)?lifecycle=").status == 404)
                let applied = try run(store, ["apply", "--yes", "--expire-other-objects", settings])
                #expect(applied.status == 0, "\(applied.text)")
            }
        }

        @Test func `a plan of prefixes tells of other folders in the bucket, and leaves out those to keep`() throws {
            try withStore("plan-prefixes") { store, folder in
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
                let found = try run(store, ["plan-prefixes", settings])
                #expect(found.status == 1 && found.text.contains(#"under "b": "backups/""#), "\(found.text)")
                #expect(found.text.contains(#"under "d": 1 object with other names than assets', such as "dad.jpg""#))
                #expect(!found.text.contains(#"under "e":"#) && found.text.contains("--keep FOLDER/"))
                #expect(try run(store, ["plan-prefixes", "--offline", settings]).status == 0)
                for wrong in ["backups", "/backups/", "backups/, exports/"] {
                    #expect(try run(store, ["plan-prefixes", "--keep", wrong, settings]).status == 2, "\(wrong)")
                }
                #expect(try store.ask("DELETE", "/\(SeaweedFS.bucket)/dad.jpg").status == 204)
                let kept = try run(store, ["plan-prefixes", "--keep", "backups/", settings])
                #expect(kept.status == 0 && kept.text.contains("only assets are under them: checked"), "\(kept.text)")
                #expect(!kept.text.contains("is not in the bucket"), "\(kept.text)")
                let typo = try run(store, ["plan-prefixes", "--keep", "backups/,backups/dialy/,bakcups/", settings])
                #expect(typo.status == 0 && !typo.text.contains("// backups/ is not"), "\(typo.text)")
                for folder in ["backups/dialy/", "bakcups/"] {
                    #expect(typo.text.contains("// \(folder) is not in the bucket: "), "\(typo.text)")
                }
            }
        }

        @Test func `a renewal run that S3 interrupts goes on where it was`() throws {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            let folder = try RunFolder.make("renew-resumes")
            var settings = TestSettings(folder: folder, upstream: upstream.s3.url)
            settings["aws.maximumAttempts"] = 1
            try settings.write(to: "\(folder)/settings.json5")
            try (0..<150).map { "none\($0).bin\n" }.joined().write(
                toFile: "\(folder)/keys", atomically: true, encoding: .utf8)
            upstream.s3.script(FaultRule(.noSuchBucket, on: .copyObject, key: "none120.bin", times: 1))
            let words = [
                "renew", "--from-list", "\(folder)/keys", "--keys-per-second", "10000", "--state", "\(folder)/state",
                "\(folder)/settings.json5",
            ]
            let first = try Command(words)
            // The operator has to act first: a loop that goes on while the status is 3 ends here.
            #expect(first.status == 1 && first.text.contains("the same command goes on from"), "\(first.text)")
            #expect(RunFolder.text(of: "\(folder)/state").contains(#""position":"100""#))
            let other = try Command(words.map { $0 == "\(folder)/keys" ? "\(folder)/other" : $0 })
            #expect(other.status == 1 && other.text.contains("belongs to a run with other keys"), "\(other.text)")
            let list = RunFolder.text(of: "\(folder)/keys")
            try ("first.bin\n" + list).write(toFile: "\(folder)/keys", atomically: true, encoding: .utf8)
            let longer = try Command(words)
            #expect(longer.status == 1 && longer.text.contains("belongs to a run with other keys"), "\(longer.text)")
            try list.write(toFile: "\(folder)/keys", atomically: true, encoding: .utf8)
            let second = try Command(words)
            #expect(second.status == 1 && second.text.contains("150 gone"), "\(second.text)")
            #expect(second.text.contains("none149.bin: gone"), "\(second.text)")
            #expect(second.text.contains("state, started at 20"), "\(second.text)")
        }

        @Test func `a list without a key, or that cannot be read, is no success, and leaves no state`() throws {
            let folder = try RunFolder.make("renew-list")
            try TestSettings(folder: folder, upstream: "http://127.0.0.1:9").write(to: "\(folder)/settings.json5")
            try Data("\n\r\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/empty"))
            try Data([0xFF, 0xFE, 0x61, 0x00]).write(to: URL(fileURLWithPath: "\(folder)/utf16"))
            for (list, sentence) in [
                ("empty", "empty holds no key"), ("utf16", "utf16 is not UTF-8"), ("none", "none cannot be read"),
            ] {
                let run = try Command([
                    "renew", "--from-list", "\(folder)/\(list)", "--state", "\(folder)/state",
                    "\(folder)/settings.json5",
                ])
                #expect(run.status == 1 && run.text.contains(sentence), "\(run.text)")
                #expect(!run.text.contains("the same command goes on"), "\(run.text)")
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/state.lock"))
            }
        }

        @Test func `a renewal run whose state is old begins anew, and says so`() throws {
            try withStore("renew-old-state") { store, folder in
                #expect(try store.ask("PUT", "/\(SeaweedFS.bucket)/assets/a.bin", body: "four").status == 200)
                let settings = try store.settings(folder) { $0["renewal.minimumAgeSeconds"] = 0 }
                try """
                {"version":1,"source":"older than 1 s: assets/","bucket":"\(SeaweedFS.bucket)","position":"assets/z",\
                "started":"2026-01-01T00:00:00Z","renewed":7,"gone":0,"refused":0,"skipped":0}
                """.write(toFile: "\(folder)/state", atomically: true, encoding: .utf8)
                usleep(1_100_000)
                let renewed = try Command(
                    ["renew", "--older-than", "1s", "--prefix", "assets/", "--state", "\(folder)/state", settings],
                    environment: store.environment)
                #expect(renewed.status == 0 && renewed.text.contains("1 renewed or young enough"), "\(renewed.text)")
                #expect(renewed.text.contains("started at 2026-01-01T00:00:00Z"), "\(renewed.text)")
                #expect(renewed.text.contains("beginning anew"), "\(renewed.text)")
            }
        }

        @Test func `a listing that took longer than the age is followed by another`() throws {
            try withStore("renew-again") { store, folder in
                for number in 0...100 {
                    #expect(try store.ask("PUT", "/\(SeaweedFS.bucket)/assets/\(number)", body: "four").status == 200)
                }
                let settings = try store.settings(folder) { $0["renewal.minimumAgeSeconds"] = 0 }
                usleep(1_100_000)
                // Two batches, the second at least two seconds after the first.
                let renewed = try Command(
                    [
                        "renew", "--older-than", "1s", "--prefix", "assets/", "--keys-per-second", "50", "--state",
                        "\(folder)/state", settings,
                    ], environment: store.environment, within: .seconds(30))
                #expect(renewed.status == 0 && renewed.text.contains("101 renewed or young enough"), "\(renewed.text)")
                #expect(renewed.text.contains("may be old enough by now; listing again"), "\(renewed.text)")
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/state"))
            }
        }

        @Test func `a key that S3 refuses is printed, and the renewal run goes on`() throws {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            let folder = try RunFolder.make("renew-refused")
            var settings = TestSettings(folder: folder, upstream: upstream.s3.url)
            settings["aws.maximumAttempts"] = 1
            try settings.write(to: "\(folder)/settings.json5")
            try (0..<150).map { "none\($0).bin\n" }.joined().write(
                toFile: "\(folder)/keys", atomically: true, encoding: .utf8)
            upstream.s3.script(FaultRule(.accessDenied, on: .copyObject, key: "none20.bin"))
            let run = try Command([
                "renew", "--from-list", "\(folder)/keys", "--keys-per-second", "10000", "--state", "\(folder)/state",
                "\(folder)/settings.json5",
            ])
            #expect(run.status == 1 && run.text.contains("none20.bin: forbidden"), "\(run.text)")
            #expect(run.text.contains("149 gone"), "\(run.text)")
        }

        @Test func `a validation that is killed goes on where it was, and proves it`() throws {
            try withStore("validate") { store, folder in
                let settings = try store.settings(folder)
                let words = [
                    "lifecycle", "validate", "--day-length", "\(FastStore.day)s", "--pairs", "2", "--state",
                    "\(folder)/state", "--report", "\(folder)/report", settings,
                ]
                let first = try Command(words + ["--once"], environment: store.environment)
                #expect(first.status == 3 && first.text.contains("4 objects are uploaded"), "\(first.text)")
                let victim = try RunningProgram(
                    try Programs.worker, words, output: "\(folder)/victim", environment: store.environment)
                try wait(for: "a renewal", within: .seconds(20)) { victim.text.contains("is renewed") }
                victim.stop(SIGKILL)
                #expect(victim.status == 137)
                let midway = RunFolder.text(of: "\(folder)/state")
                let last = try RunningProgram(
                    try Programs.worker, words, output: "\(folder)/last", environment: store.environment)
                #expect(try last.waitForEnd(within: .seconds(40)) == 0, "\(last.text)")
                #expect(last.text.contains("going on with run"))
                let report = RunFolder.text(of: "\(folder)/report.json")
                #expect(report.contains(#""verdict":"proven""#) && !report.contains(#""result":"open""#), "\(report)")
                #expect(RunFolder.text(of: "\(folder)/report.md").contains("**Proven.**"))
                // Nothing is left behind: neither the bucket nor the state.
                let bucket = try #require(
                    (try JSONSerialization.jsonObject(with: Data(report.utf8)) as? [String: Any])?["bucket"] as? String)
                #expect(try store.ask("GET", "/\(bucket)?location=").status == 404)
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/state"))
                // At its end, and killed when the bucket was gone and the state was not.
                try midway.replacing(#""trouble":null"#, with: #""trouble":"of a test""#).write(
                    toFile: "\(folder)/state", atomically: true, encoding: .utf8)
                let again = try Command(words, environment: store.environment)
                #expect(again.status == 1 && again.text.contains("failed; see"), "\(again.text)")
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/state"))
            }
        }

        @Test func `what a validation saw before S3 failed is not seen anew, and later`() throws {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            let folder = try RunFolder.make("validate-seen")
            var settings = TestSettings(folder: folder, upstream: upstream.s3.url)
            settings["aws.maximumAttempts"] = 1
            try settings.write(to: "\(folder)/settings.json5")
            let words = [
                "lifecycle", "validate", "--once", "--bucket", SeaweedFS.bucket, "--day-length", "40s", "--pairs", "2",
                "--state", "\(folder)/state", "--report", "\(folder)/report", "\(folder)/settings.json5",
            ]
            #expect(try Command(words).status == 3)
            settings["region"] = "eu-west-9"
            try settings.write(to: "\(folder)/elsewhere.json5")
            let elsewhere = try Command(words.dropLast() + ["\(folder)/elsewhere.json5"])
            #expect(elsewhere.status == 1 && elsewhere.text.contains("belongs to a run at"), "\(elsewhere.text)")
            let longer = try Command(words + ["--days", "5"])
            #expect(longer.status == 1 && longer.text.contains("another --days"), "\(longer.text)")
            let controls = upstream.s3.keys().filter { $0.contains("/control-") }.sorted()
            upstream.s3.remove(try #require(controls.first))
            upstream.s3.script(FaultRule(.internalError, on: .getObject, key: controls.last))
            var text = ""
            try wait(for: "the next look", within: .seconds(20)) {
                text = try Command(words).text
                return text.contains("control-1 is gone")
            }
            #expect(text.contains("InternalError"), "\(text)")
            #expect(RunFolder.text(of: "\(folder)/state").contains(/"missed":[0-9]/))
        }

        /// Earlier versions had canaries below `renewal.keyPrefix`.
        @Test func `canaries at their former place are renewed there, and missed there`() throws {
            try withStore("former-canaries") { store, folder in
                let names = ["old", "new"]
                let settings = try names.map { name in
                    try FileManager.default.createDirectory(
                        atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
                    return try store.settings("\(folder)/\(name)") {
                        $0["renewal.retentionDays"] = 2
                        $0["renewal.keyPrefix"] = "old/"
                        $0["uploads.keyPrefix"] = "\(name)/"
                        $0["lifecycle.prefixes"] = name == "old" ? ["old/"] : ["new/", "old/"]
                    }
                }
                func canary(_ settings: String) throws -> Command {
                    try run(store, ["canary", "--name", "h1", "--day-length", "\(FastStore.day)s", settings])
                }
                func objects(_ place: String) throws -> [String] {
                    let list = try store.ask(
                        "GET", "/\(SeaweedFS.bucket)?list-type=2&prefix=\(place)%2Fcloakroom-canary%2Fh1%2F")
                    return list.text.matches(of: /<Key>([^<]*)<\/Key><LastModified>([^<]*)</)
                        .map { "\($0.output.1) \($0.output.2)" }
                }
                #expect(try run(store, ["apply", "--yes", settings[1]]).status == 0)
                #expect(try canary(settings[0]).status == 0)
                let first = try objects("old")
                #expect(first.count == 3, "\(first)")
                let moved = try canary(settings[1])
                #expect(moved.status == 0, "\(moved.text)")
                #expect(try store.ask("GET", "/\(SeaweedFS.bucket)/new/cloakroom-canary/h1/ledger.json").status == 200)
                let kept = try #require(first.first { $0.contains("-keep ") })
                try wait(for: "the renewal of \(kept)", within: .seconds(20)) {
                    usleep(200_000)
                    let round = try canary(settings[1])
                    #expect(round.status == 0, "\(round.text)")
                    return try !objects("old").contains(kept)
                }
                let place = try #require(kept.split(separator: " ").first)
                let renewed = try objects("old")
                #expect(renewed.contains { $0.hasPrefix("\(place) ") }, "\(renewed)")
                // Today's are made at the new place alone.
                func keys(_ lines: [String]) -> Set<Substring> { Set(lines.map { $0.prefix { $0 != " " } }) }
                #expect(keys(renewed).isSubset(of: keys(first)))
                #expect(try store.ask("DELETE", "/\(SeaweedFS.bucket)/\(place)").status == 204)
                let missed = try canary(settings[1])
                #expect(missed.status == 1 && missed.text.contains("former:"), "\(missed.text)")
            }
        }

        @Test func `canaries prove both promises, and find a rule that is gone`() throws {
            try withStore("canary") { store, folder in
                let settings = try store.settings(folder) {
                    $0["renewal.retentionDays"] = 2
                    // Of clients' renewals; canaries are due when they are due.
                    $0["renewal.minimumAgeSeconds"] = 86_400
                }
                #expect(try run(store, ["apply", "--yes", settings]).status == 0)
                let words = [
                    "canary", "--name", "h1", "--day-length", "\(FastStore.day)s", "--textfile", "\(folder)/c.prom",
                    settings,
                ]
                func metric(_ name: String) -> Double? {
                    RunFolder.text(of: "\(folder)/c.prom").split(separator: "\n").first { $0.hasPrefix(name + " ") }
                        .flatMap { Double($0.dropFirst(name.count + 1)) }
                }
                try wait(for: "both proofs", within: .seconds(60)) {
                    let round = try run(store, words)
                    #expect(round.status == 0, "\(round.text)")
                    usleep(500_000)
                    return metric("cloakroom_canary_last_expiry_timestamp_seconds") != nil
                        && metric("cloakroom_canary_last_survival_timestamp_seconds") != nil
                }
                // The way out of a refusal is not what the commands about the rule need.
                let refused = try Command(["lifecycle"] + words, environment: TestSettings.environment)
                #expect(refused.status == 1 && refused.text.contains("(403)"), "\(refused.text)")
                #expect(!refused.text.contains("Lifecycle"), "\(refused.text)")
                // Another host's canaries are its own.
                let other = try run(store, ["canary", "--name", "h2", "--day-length", "\(FastStore.day)s", settings])
                #expect(other.status == 0 && other.text.contains("1 to delete, 1 to keep"))
                #expect(try store.ask("DELETE", "/\(SeaweedFS.bucket)?lifecycle=").status == 204)
                try wait(for: "the late ones", within: .seconds(60)) {
                    usleep(500_000)
                    return try run(store, words + ["--grace", "1s"]).status == 1
                }
                #expect(metric(#"cloakroom_canary_failures{kind="late"}"#) ?? 0 > 0)
            }
        }
    }
}
