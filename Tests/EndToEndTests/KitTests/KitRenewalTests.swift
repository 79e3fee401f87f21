import CloakroomKit
import Foundation
import CloakroomScriptedS3
import Testing

extension EndToEnd {
    /// Renewals of an app's assets, from its database to the dates in S3.
    @Suite struct KitRenewals {
        private func store(_ stack: Stack) throws -> SQLiteRenewalStore {
            try SQLiteRenewalStore(
                at: URL(fileURLWithPath: "\(stack.folder)/renewals.db"),
                owner: StoreOwner(user: "u_1", endpoint: URL(fileURLWithPath: stack.folder)))
        }

        /// Which keys are recorded as renewed.
        private func stamped(_ store: SQLiteRenewalStore) async throws -> [String] {
            try await store.records().filter { $0.lastRenewed != nil }.map(\.key).sorted()
        }

        /// How many requests have reached the worker.
        private func renewals(_ stack: Stack) throws -> Double {
            Metrics(try stack.ask(.metrics).text).sum("cloakroom_requests_total", ["route": "/v2/assets/renew-batch"])
        }

        @Test func `what is there gets another date and a stamp, and what is not gets neither`() async throws {
            try await Stack.run("kit-renewal", .init(nginx: true, s3: true)) { stack in
                let kit = try Kit(stack)
                let s3 = try EndToEnd.s3()
                for key in ["kit-a.bin", "kit-b.bin"] { try s3.put(key) }
                let before = try #require(try s3.lastModified("kit-a.bin"))
                let foreign = RenewableAsset.groupImage(
                    url: try Kit.url("https://elsewhere.localhost/kit-a.bin"), conversationID: "f")
                let assets =
                    ["kit-a.bin", "kit-b.bin", "kit-gone.bin"].map { kit.groupImage($0, in: $0) } + [foreign]
                let store = try store(stack)
                let manager = AssetRenewalManager(
                    renewer: kit.client, collector: AssetCollection(assets), store: store, baseURLs: kit.baseURLs)
                // Dates have whole seconds.
                try wait(for: "another second") {
                    try s3.put("kit-clock.bin")
                    return try s3.lastModified("kit-clock.bin") != before
                }
                var expected = RenewalReport()
                expected.assets = 4
                expected.assetsOutsideBaseURLs = 1
                expected.requests = 1
                expected.renewed = 2
                expected.notFound = ["kit-gone.bin"]
                #expect(await manager.renewIfNeeded() == expected)
                for key in ["kit-a.bin", "kit-b.bin"] { #expect(try s3.lastModified(key) != before) }
                #expect(try await stamped(store) == ["kit-a.bin", "kit-b.bin"])
                let ends = try await store.records().compactMap(\.expiration)
                #expect(ends.count == 2 && ends.allSatisfy { $0 > Date(timeIntervalSinceNow: 29 * 86_400) })
                expected.requests = 0
                expected.renewed = 0
                expected.notFound = []
                expected.notDue = 3
                #expect(await manager.renewIfNeeded() == expected)
            }
        }

        @Test func `past the limit the rest waits, unstamped, and nothing is sent before its end`()
            async throws
        {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            let options = upstream.options(nginx: true) { settings in
                settings["limits.renew.requests"] = nil
                settings["limits.renewKeys.keys"] = nil
            }
            try await Stack.run("kit-limit", options) { stack in
                let kit = try Kit(stack, s3: upstream.s3.url)
                let keys = (0..<1100).map { ScriptedS3.key("k", $0) }
                for key in keys { upstream.s3.put(key) }
                let store = try store(stack)
                let manager = AssetRenewalManager(
                    renewer: kit.client, collector: AssetCollection(keys.map { kit.groupImage($0, in: $0) }),
                    store: store, baseURLs: kit.baseURLs)
                let report = await manager.renewIfNeeded()
                #expect(report.error?.code == .tooManyRequests, "\(report.end) \(String(describing: report.error))")
                #expect(report.requests == 11 && report.renewed == 1000 && report.notSent == 100)
                guard case .postponed(let end) = report.end else {
                    Issue.record("\(report.end)")
                    return
                }
                #expect((3000...3600).contains(end.timeIntervalSinceNow))
                let touched = keys.filter { upstream.s3.truth($0).selfCopies == 1 }
                #expect(touched.count == 1000)
                #expect(try await stamped(store) == touched.sorted())

                let asked = try renewals(stack)
                #expect(asked == 11)
                // Another launch, which has the pause from the disk alone.
                let next = AssetRenewalManager(
                    renewer: kit.client, collector: AssetCollection(keys.map { kit.groupImage($0, in: $0) }),
                    store: try self.store(stack), baseURLs: kit.baseURLs)
                let second = await next.renewIfNeeded()
                #expect(second.requests == 0 && second.notSent == 100 && second.notDue == 1000)
                #expect(await next.forceRenewal().requests == 0)
                #expect(try renewals(stack) == asked)
            }
        }

        @Test func `while S3 is away nothing is stamped, and the server's pause is heeded`() async throws {
            let upstream = try ScriptedUpstream()
            try await Stack.run("kit-s3-away", upstream.options(nginx: true)) { stack in
                let kit = try Kit(stack, s3: upstream.s3.url, retryPolicy: RetryPolicy(maximumAttempts: 1))
                upstream.s3.put("a.bin")
                upstream.s3.stop()
                let store = try store(stack)
                let manager = AssetRenewalManager(
                    renewer: kit.client, collector: AssetCollection([kit.groupImage("a.bin")]), store: store,
                    baseURLs: kit.baseURLs)
                let report = await manager.renewIfNeeded()
                #expect(report.error?.code == .unavailable && report.error?.status == 503)
                #expect(report.renewed == 0 && report.notFound == [])
                #expect(report.failed.map { "\($0.key) \($0.reason)" } == ["a.bin unavailable"])
                guard case .postponed = report.end else {
                    Issue.record("\(report.end)")
                    return
                }
                #expect(try await stamped(store) == [])
            }
        }
    }
}
