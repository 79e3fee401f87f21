import Foundation
import Testing

extension EndToEnd {
    /// What lives and what expires, on a store that really expires objects.
    @Suite struct CephDays {
        /// A key that was said to be renewed lives its days from then on, and one that is said to be gone is gone.
        @Test func `of a thousand keys none is told renewed that expires early, and none is told gone that is there`()
            throws
        {
            let ceph = try EndToEnd.ceph()
            let days = 6
            let names = (0..<1000).map { String(format: "k%03d.jpg", $0) }
            let options = ceph.options {
                $0["renewal.keyPrefix"] = "many/"
                $0["limits.renew.requests"] = 100_000
                $0["limits.renewKeys.keys"] = 1_000_000
            }
            try ceph.withRule(prefix: "many/", days: days) {
                for hundreds in 0..<10 {
                    #expect(try ceph.ask("PUT", "/many/k\(hundreds)[00-99].jpg", body: "bytes").status == 200)
                }
                #expect(try ceph.keys(below: "many/").count == 1000)
                try Stack.run("ceph-renewals", options) { stack in
                    let token = Tokens.fresh()
                    var renewed: [String: Double] = [:]
                    var falseWords: [String] = []
                    /// - Returns: how many are told to be renewed, and how many to be gone.
                    func renew(_ names: some Collection<String>) throws -> (renewed: Int, gone: Int) {
                        let sent = milliseconds()
                        let reply = try stack.ask(.renew(token, Array(names)))
                        guard reply.status == 200 else { return (0, 0) }
                        let results = try #require(reply.json["results"] as? [[String: Any]])
                        let gone = results.filter { $0["error"] as? String == "not_found" }
                            .compactMap { $0["key"] as? String }
                        let told = results.filter { $0["success"] as? Bool == true }.compactMap { $0["key"] as? String }
                        for name in told { renewed[name] = sent }
                        let present = try ceph.keys(below: "many/")
                        falseWords += gone.filter { present.contains("many/\($0)") }.map { "gone: \($0)" }
                        return (told.count, gone.count)
                    }
                    /// Looks for what was renewed and is no more.
                    func look() throws {
                        let present = try ceph.keys(below: "many/")
                        let now = milliseconds()
                        let life = Double(days * Ceph.day) * 1000
                        for (name, time) in renewed where now < time + life && !present.contains("many/\(name)") {
                            falseWords.append("renewed: \(name), \(now - time) ms ago")
                        }
                    }
                    let kept = Array(names.prefix(500))
                    let start = milliseconds()
                    var count = 0
                    // Thirteen days, twice the life of what is not renewed.
                    while milliseconds() < start + Double(13 * Ceph.day) * 1000 {
                        for first in stride(from: 0, to: kept.count, by: 100) {
                            count += try renew(kept[first..<first + 100]).renewed
                            try look()
                        }
                        let next = milliseconds() + Double(days * Ceph.day) * 1000 / 4
                        try wait(for: "a quarter of their days", within: .seconds(60)) { milliseconds() > next }
                        try look()
                    }
                    #expect(falseWords == [])
                    #expect(count >= 3 * kept.count, "\(count) renewals")
                    #expect(Set(kept).isSubset(of: Set(renewed.keys)))
                    // The others have expired.
                    try wait(for: "the end of the others", within: .seconds(60)) {
                        try ceph.keys(below: "many/").count <= kept.count
                    }
                    for first in stride(from: 500, to: names.count, by: 100) {
                        let answer = try renew(names[first..<first + 100])
                        #expect(answer.renewed == 0 && answer.gone == 100)
                    }
                    #expect(falseWords == [])
                }
            }
        }

        @Test func `a validation proves it, though x-amz-expiration counts other days`() throws {
            let ceph = try EndToEnd.ceph()
            let folder = try RunFolder.make("ceph-validate")
            let settings = try ceph.settings(folder)
            let run = try Command(
                [
                    "lifecycle", "validate", "--day-length", "\(Ceph.day)s", "--days", "2", "--grace", "60s", "--pairs",
                    "2", "--state", "\(folder)/state", "--report", "\(folder)/report", settings,
                ], environment: ceph.environment, within: .seconds(120))
            #expect(run.status == 0, "\(run.text)")
            let report = RunFolder.text(of: "\(folder)/report.json")
            #expect(report.contains(#""verdict":"proven""#) && report.contains(#""result":"untold""#), "\(report)")
            #expect(report.contains("it is not trusted"), "\(report)")
        }

        @Test func `canaries prove both promises, and their ledger is kept`() throws {
            let ceph = try EndToEnd.ceph()
            let folder = try RunFolder.make("ceph-canary")
            let settings = try ceph.settings(folder) { $0["renewal.retentionDays"] = 2 }
            let words = [
                "lifecycle", "canary", "--name", "h1", "--day-length", "\(Ceph.day)s", "--grace", "60s", "--textfile",
                "\(folder)/c.prom", settings,
            ]
            try ceph.withRule(prefix: "", days: 2) {
                try wait(for: "both proofs", within: .seconds(90)) {
                    let round = try Command(words, environment: ceph.environment, within: .seconds(30))
                    #expect(round.status == 0, "\(round.text)")
                    usleep(500_000)
                    let metrics = RunFolder.text(of: "\(folder)/c.prom")
                    return metrics.contains("\ncloakroom_canary_last_expiry_timestamp_seconds ")
                        && metrics.contains("\ncloakroom_canary_last_survival_timestamp_seconds ")
                }
            }
        }

        @Test func `the doctor names the store and what does not hold there`() throws {
            let ceph = try EndToEnd.ceph()
            func visit(_ store: String) throws -> (status: Int32?, found: [String]) {
                let settings = try ceph.settings(try RunFolder.make("ceph-doctor")) { $0["vending.store"] = store }
                let command = try Command(
                    ["doctor", "--settings", settings, "--json", "--only", "bucket,store,role,scopes"],
                    environment: ceph.environment, within: .seconds(60))
                let report = try JSONSerialization.jsonObject(with: Data(command.text.utf8)) as? [String: Any]
                let findings = try #require(report?["findings"] as? [[String: String]], "\(command.text)")
                return (
                    command.status,
                    findings.map { "\($0["check"] ?? "") \($0["level"] ?? ""): \($0["found"] ?? "")" }
                )
            }
            let (status, found) = try visit("ceph")
            #expect(status == 0, "\(found)")
            for expected in [
                "store ok: the store is Ceph's RADOS Gateway, as vending.store says",
                "store warning: a presigned upload overwrites an object that is there already: If-None-Match in its query "
                    + "is ignored",
                "store ok: a PUT with If-None-Match leaves an object alone that is there already",
                "store warning: a presigned upload of other bytes than announced is stored: its SHA-256 is ignored",
                "store ok: a presigned upload copies no other object",
                "store ok: what the worker writes belongs to the bucket's owner",
            ] { #expect(found.contains(expected), "\(expected) in \(found)") }
            for scope in ["full", "read", "upload"] {
                #expect(found.contains { $0.hasPrefix("scopes ok: \(scope): ") }, "\(found)")
            }
            #expect(try ceph.keys(below: "cloakroom-doctor") == [])
            let (other, wrong) = try visit("aws")
            #expect(other == 1)
            #expect(
                wrong.contains("store error: the store is Ceph's RADOS Gateway, but vending.store is \"aws\""),
                "\(wrong)")
            #expect(
                wrong.contains { $0.hasPrefix("store error: a presigned upload copies every object ") },
                "\(wrong)")
        }
    }
}
