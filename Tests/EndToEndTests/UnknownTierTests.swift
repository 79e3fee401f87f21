import Foundation
import Testing

extension EndToEnd {
    /// Users whose record names a tier that was taken out of the settings.
    @Suite struct UnknownTiers {
        @Test func `renewals go on for users of a tier that is gone, vending and uploads do not, and the log says why`()
            throws
        {
            let options = Stack.Options(s3: true) { $0["tiers"] = ["free": ["storageLimitBytes": 1 << 30]] }
            try Stack.run("unknown-tier", options) { stack in
                try stack.waitUntilReady()
                let redis = try #require(stack.redis)
                try redis.command("HSET cloakroom:user:{u_gone} updated 1 tier pro")
                let token = Tokens.token(user: "u_gone")
                for _ in 0..<2 {
                    #expect(try stack.ask(.renew(token, ["gone.bin"])).status == 200)
                    #expect(try stack.ask(.vend(token)).status == 500)
                    #expect(try stack.ask(.presign(token)).status == 500)
                }
                try wait(for: "the log's lines") {
                    let refusals = stack.logLines("request").filter { $0["reason"] as? String == "unknown_tier" }
                    return refusals.count == 4 && refusals.allSatisfy { $0["level"] as? String == "error" }
                }
                let warnings = stack.logLines(
                    "a user's record names a tier that the settings lack: renewals go on, nothing is vended or uploaded"
                )
                #expect(warnings.map { $0["tier"] as? String } == ["pro"])
                #expect(warnings.first?["user"] as? String == "u_gone")
                let shown = try Command(["user", "get", "u_gone", stack.settingsFile])
                #expect(shown.status == 0 && shown.text.contains("pro (not in the settings)"), "\(shown.text)")
                let listed = try Command(["user", "list", stack.settingsFile])
                #expect(listed.text.contains("enabled, tier not in the settings"), "\(listed.text)")
            }
        }

        @Test func `check names tiers that are gone, and another place of records, before the settings are in use`()
            throws
        {
            let limit = ["storageLimitBytes": 1 << 30]
            let tiers = ["free": limit, "pro": limit]
            try Stack.run("former", .init(redis: false) { $0["tiers"] = tiers }) { stack in
                let former = "\(stack.folder)/former.json5"
                try FileManager.default.copyItem(atPath: stack.settingsFile, toPath: former)
                let same = try Command(["check", "--former", former, stack.settingsFile])
                #expect(same.status == 0 && !same.text.contains("gone") && !same.text.contains("elsewhere"))
                try stack.writeSettings {
                    $0["tiers"] = ["free": limit, "premium": limit]
                    $0["redis.keyPrefix"] = "app:"
                }
                let check = try Command(["check", "--former", former, stack.settingsFile])
                #expect(check.status == 0)
                #expect(
                    check.text.contains("warning: users of tiers that are gone (pro) get no credentials"),
                    "\(check.text)")
                let place = #"looked for elsewhere: redis.keyPrefix was "cloakroom:", and is "app:"."#
                #expect(check.text.contains(place), "\(check.text)")
            }
        }
    }
}
