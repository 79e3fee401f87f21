import Foundation
import CloakroomScriptedS3
import Testing

extension EndToEnd {
    /// `cloakroom renew`: what is old is saved, whatever comes between.
    @Suite struct RenewCommand {
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
            try FastStore.run("renew-old-state") { store, folder in
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
            try FastStore.run("renew-again") { store, folder in
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
    }
}
