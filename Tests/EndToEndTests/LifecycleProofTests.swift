import Foundation
import CloakroomScriptedS3
import Testing

extension EndToEnd {
    /// The commands that prove the bucket's rules, on a store whose days are seconds.
    @Suite struct LifecycleProof {
        @Test func `a validation that is killed goes on where it was, and proves it`() throws {
            try FastStore.run("validate") { store, folder in
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
            try FastStore.run("former-canaries") { store, folder in
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
                    try store.lifecycle(["canary", "--name", "h1", "--day-length", "\(FastStore.day)s", settings])
                }
                func objects(_ place: String) throws -> [String] {
                    let list = try store.ask(
                        "GET", "/\(SeaweedFS.bucket)?list-type=2&prefix=\(place)%2Fcloakroom-canary%2Fh1%2F")
                    return list.text.matches(of: /<Key>([^<]*)<\/Key><LastModified>([^<]*)</)
                        .map { "\($0.output.1) \($0.output.2)" }
                }
                #expect(try store.lifecycle(["apply", "--yes", settings[1]]).status == 0)
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
            try FastStore.run("canary") { store, folder in
                let settings = try store.settings(folder) {
                    $0["renewal.retentionDays"] = 2
                    // Of clients' renewals; canaries are due when they are due.
                    $0["renewal.minimumAgeSeconds"] = 86_400
                }
                #expect(try store.lifecycle(["apply", "--yes", settings]).status == 0)
                let words = [
                    "canary", "--name", "h1", "--day-length", "\(FastStore.day)s", "--textfile", "\(folder)/c.prom",
                    settings,
                ]
                func metric(_ name: String) -> Double? {
                    RunFolder.text(of: "\(folder)/c.prom").split(separator: "\n").first { $0.hasPrefix(name + " ") }
                        .flatMap { Double($0.dropFirst(name.count + 1)) }
                }
                try wait(for: "both proofs", within: .seconds(60)) {
                    let round = try store.lifecycle(words)
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
                let other = try store.lifecycle([
                    "canary", "--name", "h2", "--day-length", "\(FastStore.day)s", settings,
                ])
                #expect(other.status == 0 && other.text.contains("1 to delete, 1 to keep"))
                #expect(try store.ask("DELETE", "/\(SeaweedFS.bucket)?lifecycle=").status == 204)
                try wait(for: "the late ones", within: .seconds(60)) {
                    usleep(500_000)
                    return try store.lifecycle(words + ["--grace", "1s"]).status == 1
                }
                #expect(metric(#"cloakroom_canary_failures{kind="late"}"#) ?? 0 > 0)
            }
        }
    }
}
