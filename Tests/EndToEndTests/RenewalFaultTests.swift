import Foundation
import CloakroomScriptedS3
import Testing

extension EndToEnd {
    /// FAULTS rows 4, 5, 8 to 10 and 18 on an S3 that answers as AWS does: what is said of a key is what is true of it.
    @Suite struct RenewalFaults {
        @Test func `one copy a key changes nothing but the date, and each key has its own result`() throws {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            try Stack.run("first-rung", upstream.options(nginx: true)) { stack in
                Self.seed(upstream.s3)
                let before = upstream.s3.truth("photo.bin")
                let keys = ["photo.bin", "young.bin", "gone.bin", "cold.bin", "theirs.bin", "../x", "photo.bin"]
                let reply = try stack.askNginx(.renew(Tokens.fresh(), keys))
                #expect(reply.status == 200, "\(reply.text)")
                let results = try #require(reply.json["results"] as? [[String: Any]])
                #expect(results.map { $0["key"] as? String } == keys)
                #expect(
                    results.map { $0["error"] as? String }
                        == [nil, nil, "not_found", "archived", "forbidden", "invalid_key", nil])
                // The next midnight after thirty days, as the rule of the bucket says.
                let end = try #require(results[0]["expiresAt"] as? String)
                #expect(end.hasSuffix("T00:00:00Z"))
                let after = upstream.s3.truth("photo.bin")
                #expect(after.selfCopies == 1 && after.lastModified > before.lastModified)
                #expect(after.fields == before.fields && after.tags == before.tags)
                #expect(after.entityTag == before.entityTag && after.versions == 1)
                #expect(upstream.s3.truth("young.bin").selfCopies == 0)
                let asked = upstream.s3.requests.filter { $0.operation != .headBucket }
                #expect(asked.count { $0.key == "photo.bin" } == 1)
                #expect(asked.count { $0.key == "young.bin" } == 1)
                #expect(!asked.contains { $0.target.contains("..") })
            }
        }

        @Test func `whatever S3 answers, no key is called renewed or gone that is not`() throws {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            let options = upstream.options { $0["aws.timeoutMilliseconds"] = 300 }
            try Stack.run("every-fault", options) { stack in
                for fault in S3Fault.allCases {
                    let (there, gone) = ("\(fault)-a.bin", "\(fault)-b.bin")
                    upstream.s3.put(there)
                    upstream.s3.clearFaults()
                    upstream.s3.script(
                        FaultRule(fault, on: .copyObject, key: there), FaultRule(fault, on: .copyObject, key: gone))
                    let reply = try stack.ask(.renew(Tokens.fresh(), [there, gone]))
                    #expect(reply.status == Self.status(fault), "\(fault): \(reply.told)")
                    let words = Self.words(reply)
                    #expect(words[there] != "not_found", "\(fault)")
                    if words[there] == "renewed" { #expect(upstream.s3.truth(there).selfCopies == 1, "\(fault)") }
                    #expect(words[gone] != "renewed", "\(fault)")
                    if reply.status == 503 { #expect(reply.fields["retry-after"] != nil, "\(fault)") }
                }
                // The 50 MB, too, and the entities that would have become more.
                let process = try #require(stack.server).pid
                #expect(ProcessTable.residentMegabytes(process) < 100)
                // Behaving, it is what it was.
                upstream.s3.clearFaults()
                let keys = S3Fault.allCases.map { "\($0)-a.bin" }
                let reply = try stack.ask(.renew(Tokens.fresh(), keys))
                #expect(reply.json["renewed"] as? Int == keys.count, "\(reply.told)")
                for key in keys { #expect(upstream.s3.truth(key).selfCopies == 1, "\(key)") }
            }
        }

        @Test func `a redirect is not followed`() throws {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            try Stack.run("redirect", upstream.options { $0["aws.maximumAttempts"] = 3 }) { stack in
                upstream.s3.put("a.bin")
                upstream.s3.script(FaultRule(.temporaryRedirect, on: .copyObject, times: 1))
                let reply = try stack.ask(.renew(Tokens.fresh(), ["a.bin"]))
                #expect(reply.status == 503)
                #expect(upstream.s3.count(.copyObject) == 1)
                #expect(upstream.s3.truth("a.bin").selfCopies == 0)
            }
        }

        @Test func `SlowDown for a third of a batch delays those keys, and all are renewed`() throws {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            try Stack.run("slow-down", upstream.options { $0["aws.maximumAttempts"] = 3 }) { stack in
                let keys = (0..<99).map { ScriptedS3.key("k", $0) }
                for (number, key) in keys.enumerated() {
                    upstream.s3.put(key)
                    if number % 3 == 0 { upstream.s3.script(FaultRule(.slowDown, key: key, times: 1)) }
                }
                let reply = try stack.ask(.renew(Tokens.fresh(), keys))
                #expect(reply.json["renewed"] as? Int == 99, "\(reply.told)")
                for key in keys { #expect(upstream.s3.truth(key).selfCopies == 1) }
                #expect(upstream.s3.count(.copyObject) == 99 + 33)
            }
        }

        @Test func `without the right to list, to read tags or to be in this region it is no fault of any key`()
            throws
        {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            try Stack.run("permissions", upstream.options()) { stack in
                Self.seed(upstream.s3)
                func expectOurFault(_ key: String) throws {
                    let reply = try stack.ask(.renew(Tokens.fresh(), [key]))
                    #expect(reply.told == #"503 {"error":"Temporarily unavailable","code":"unavailable"}"#)
                    #expect(reply.fields["retry-after"] == "60")
                }
                upstream.s3.identities { $0[0].denied = ["s3:ListBucket"] }
                try expectOurFault("gone.bin")
                upstream.s3.identities { $0[0].denied = ["s3:PutObjectTagging"] }
                try expectOurFault("photo.bin")
                upstream.s3.identities { $0[0].denied = [] }
                upstream.s3.script(FaultRule(.wrongRegion, on: .copyObject, times: 1))
                try expectOurFault("photo.bin")
                upstream.s3.removeBucket()
                try expectOurFault("gone.bin")
                // A line may come a moment after its answer.
                let reasons = ["AccessDenied", "AccessDenied", "AuthorizationHeaderMalformed", "NoSuchBucket"]
                try wait(for: "\(reasons)") {
                    stack.logLines("request").compactMap { $0["reason"] as? String } == reasons
                }
                let lines = stack.logLines("renewals are misconfigured: run cloakroom doctor")
                #expect(lines.map { $0["code"] as? String } == reasons)
                #expect(lines.allSatisfy { $0["level"] as? String == "error" })
                #expect(Metrics(try stack.ask(.metrics).text).sum("cloakroom_renewal_misconfigurations_total") == 4)
            }
        }

        @Test func `a clock that is an hour off is corrected once, from S3's own`() throws {
            let upstream = try ScriptedUpstream { options in
                options.clock = { ScriptedS3.wallClock() + 3600 }
            }
            defer { upstream.s3.stop() }
            try Stack.run("skewed", upstream.options { $0["aws.maximumAttempts"] = 3 }) { stack in
                for key in ["a.bin", "b.bin"] { upstream.s3.put(key) }
                var refusals: [Int] = []
                for key in ["a.bin", "b.bin"] {
                    let reply = try stack.ask(.renew(Tokens.fresh(), [key]))
                    #expect(reply.json["renewed"] as? Int == 1, "\(reply.told)")
                    refusals.append(upstream.s3.requests.count { $0.status == 403 })
                }
                // The worker asks by itself whether S3 is there: that may have been on its way beside the first key.
                #expect(refusals == [1, 1] || refusals == [2, 2])
            }
        }

        @Test(arguments: ["retry", "report"])
        func `no false word under a random mix of all faults`(_ failure: String) throws {
            let upstream = try ScriptedUpstream { $0.keepsRequests = false }
            defer { upstream.s3.stop() }
            let options = upstream.options { settings in
                settings["aws.timeoutMilliseconds"] = 300
                settings["renewal.partialFailure"] = failure
            }
            try Stack.run("mix-\(failure)", options) { stack in
                let start = ScriptedS3.wallClock()
                let keys = (0..<2000).map { ScriptedS3.key("k", $0) }
                for (number, key) in keys.enumerated() where number % 5 != 4 { upstream.s3.put(key) }
                upstream.s3.mix(FaultMix(share: failure == "retry" ? 0.01 : 0.05, seed: 5))
                let size = failure == "retry" ? 50 : 20
                let token = Tokens.fresh()
                var claims: [String: Int] = [:]
                for first in stride(from: 0, to: keys.count, by: size) {
                    let reply = try stack.ask(.renew(token, Array(keys[first..<first + size])))
                    for (key, word) in Self.words(reply) {
                        let truth = upstream.s3.truth(key)
                        if word == "renewed" { #expect(truth.lastModified >= start, "\(key)") }
                        if word == "not_found" { #expect(!truth.exists, "\(key)") }
                        claims[word, default: 0] += 1
                    }
                }
                // Enough of both for the above to mean something.
                #expect(claims["renewed"] ?? 0 >= 500 && claims["not_found"] ?? 0 >= 100, "\(claims)")
                #expect(upstream.s3.injectedFaults.count >= 10)
            }
        }

        @Test func `keys that mean something elsewhere are names to S3, where any key may be one`() throws {
            let upstream = try ScriptedUpstream()
            defer { upstream.s3.stop() }
            let keys = [
                "a b+c%41.bin", "x?versionId=1", "ü/é.bin", "a//b", "../up", "%2e%2e/up", "a&b=c#d", "\u{0}\u{1}",
                "line\r\nX-Evil: 1", "quote\"<>'&amp;", " lead", "trail ", "*", "~", "https://example.com/x",
            ]
            let anyKey: (inout TestSettings) -> Void = {
                $0["renewal.keys"] = "any"
                $0["renewal.allowAnyOwner"] = true
            }
            try Stack.run("any-key", upstream.options(nginx: false, anyKey)) { stack in
                for key in keys { upstream.s3.put(key) }
                let long = String(repeating: "k", count: 1025)
                let reply = try stack.ask(.renew(Tokens.fresh(), keys + [long]))
                let words = Self.words(reply)
                for key in keys {
                    #expect(words[key] == "renewed", "\(key)")
                    #expect(upstream.s3.truth(key).selfCopies == 1, "\(key)")
                }
                #expect(words[long] == "invalid_key")
                let copies = upstream.s3.requests.filter { $0.operation == .copyObject }
                #expect(copies.count == keys.count && copies.allSatisfy { $0.status == 200 })
                #expect(copies.allSatisfy { $0.fields["x-evil"] == nil })
            }
        }

        // MARK: Parts

        private static func seed(_ s3: ScriptedS3) {
            s3.lifecycle(
                "<LifecycleConfiguration><Rule><ID>thirty-days</ID><Status>Enabled</Status><Filter/>"
                    + "<Expiration><Days>30</Days></Expiration></Rule></LifecycleConfiguration>")
            var photo = ScriptedS3.Seed()
            photo.contentType = "image/jpeg"
            photo.system = ["cache-control": "max-age=31536000", "content-disposition": "inline; filename=\"a b.jpg\""]
            photo.metadata = ["taken": "2026-01-01", "by": "ü"]
            photo.tags = ["kind": "photo"]
            s3.put("photo.bin", photo)
            var young = ScriptedS3.Seed()
            young.age = 3600
            s3.put("young.bin", young)
            var cold = ScriptedS3.Seed()
            cold.storageClass = "GLACIER"
            s3.put("cold.bin", cold)
            var theirs = ScriptedS3.Seed()
            theirs.customerKeyMD5 = "1B2M2Y8AsgTpgAmY7PhCfg=="
            s3.put("theirs.bin", theirs)
        }

        /// What is said of each key: `renewed`, or its error.
        private static func words(_ reply: TestResponse) -> [String: String] {
            let results = reply.json["results"] as? [[String: Any]] ?? []
            return Dictionary(
                results.map { result in
                    let isRenewed = result["success"] as? Bool == true
                    return (result["key"] as? String ?? "", isRenewed ? "renewed" : result["error"] as? String ?? "")
                }, uniquingKeysWith: { $1 })
        }

        /// Of a batch of two keys that both meet it: done or refused for this key, our fault, or a matter of time.
        private static func status(_ fault: S3Fault) -> Int {
            switch fault {
            case .leadingWhitespace, .trailingWhitespace, .invalidObjectState, .accessDenied: 200
            case .noSuchBucket, .wrongRegion, .permanentRedirect, .temporaryRedirect, .expiredToken,
                .requestTimeTooSkewed, .signatureDoesNotMatch, .kmsDisabled, .pageNotFound, .emptyNotFound:
                503
            case .internalError, .serviceUnavailable, .slowDown, .retryAfter, .tooManyRequests, .requestTimeout,
                .conflict, .badGateway, .gatewayTimeout, .okWithError, .okWithSlowDown, .okEmpty, .okHTML,
                .okTruncated, .okWithoutTag, .okEntityBomb, .okHuge, .resetAfterwards, .reset, .hang, .halfAnswer,
                .preconditionFailed:
                503
            }
        }
    }
}
