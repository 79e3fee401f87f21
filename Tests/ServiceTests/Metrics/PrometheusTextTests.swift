import CloakroomWire
import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct PrometheusTextTests {
    @LoopActor private func lines(_ metrics: Metrics) -> [String] {
        let values = (0..<metrics.layout.count).map { metrics.row[$0] }
        let text = PrometheusText.encode(
            metrics.layout, values: values,
            gauges: [("cloakroom_workers", "Workers whose counters are added up here.", 1)])
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test @LoopActor func `writes what was counted, whole`() throws {
        let metrics = try Metrics()
        metrics.answered(RouteLabel(.stsToken), status: 200, nanoseconds: 700_000)
        metrics.answered(RouteLabel(.stsToken), status: 200, nanoseconds: 500_000)
        metrics.answered(.unknown, status: 418, nanoseconds: 20_000_000_000)
        metrics.attempted(
            Attempt(
                service: .sts, fault: AWSError(.throttled, code: "x"),
                duration: .milliseconds(3)))
        let window = Settings.Limit(quota: 1, window: .seconds(1), whenRedisIsAway: .open)
        let limits = Settings.Limits(
            renew: window, renewKeys: window, release: window, releaseKeys: window, vend: window, upload: window,
            uploadBytes: window, session: window,
            notification: window)
        let pair = RateLimitCount.Pair(requests: .init(used: 0, left: .zero), quantity: .init(used: 0, left: .zero))
        let unused = RateLimitCount(device: pair, user: pair)
        let (vending, renewing) = (RateLimitPolicy(.vend, limits), RateLimitPolicy(.renew, limits))
        metrics.limited(.vend, RateLimitDecision(.vend, unused, by: vending), by: vending)
        metrics.limited(
            .renewal(keys: 2), RateLimitDecision(.renewal(keys: 2), unused, by: renewing), by: renewing)
        metrics.renewed(.notFound)
        metrics.lookedUp(.joined)
        metrics.redisFailed(.refused(code: "READONLY"))
        metrics.redisFailed(.refused(code: "WEIRD"))
        metrics.issued(.upload(objectKey: "k", until: Date()))
        metrics.linesDropped(1)
        let samples = lines(metrics).filter { !$0.hasPrefix("#") }
        func buckets(_ family: String, _ label: String, _ counts: [Int]) -> [String] {
            let bounds = [
                "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5",
            ]
            return zip(bounds + ["5.0", "10.0", "+Inf"], counts).map { "\(family)_bucket{\(label),le=\"\($0)\"} \($1)" }
        }
        let request = "cloakroom_request_duration_seconds"
        let upstream = "cloakroom_upstream_duration_seconds"
        let token = #"route="/api/v1/auth/sts-token""#
        var expected = [
            "cloakroom_workers 1", "cloakroom_requests_total{\(token),status=\"200\"} 2",
            #"cloakroom_requests_total{route="unknown",status="other"} 1"#,
        ]
        expected += buckets(request, token, [1] + Array(repeating: 2, count: 14))
        expected += ["\(request)_sum{\(token)} 0.0012", "\(request)_count{\(token)} 2"]
        expected += buckets(request, #"route="unknown""#, Array(repeating: 0, count: 14) + [1])
        expected += [#"\#(request)_sum{route="unknown"} 20.0"#, #"\#(request)_count{route="unknown"} 1"#]
        expected += [#"cloakroom_upstream_attempts_total{upstream="sts",outcome="throttled"} 1"#]
        expected += buckets(upstream, #"upstream="sts""#, [0, 0, 0] + Array(repeating: 1, count: 12))
        expected += [#"\#(upstream)_sum{upstream="sts"} 0.003"#, #"\#(upstream)_count{upstream="sts"} 1"#]
        expected += [
            #"cloakroom_limit_decisions_total{limit="renewKeys",verdict="refused"} 1"#,
            #"cloakroom_limit_decisions_total{limit="vend",verdict="allowed"} 1"#,
        ]
        for name in ["half_used", "used_up"] {
            expected += WindowLabel.allCases.map {
                #"cloakroom_limit_\#(name)_total{limit="\#($0.value)"} \#($0.value == "vend" ? 1 : 0)"#
            }
        }
        expected += ["cloakroom_crowded_addresses_total 0"]
        expected += Entitlement.Refusal.allCases.map {
            #"cloakroom_entitlement_refusals_total{reason="\#($0.rawValue)"} 0"#
        }
        expected += SharingRules.Omission.allCases.map {
            #"cloakroom_omitted_shares_total{reason="\#($0.rawValue)"} 0"#
        }
        expected += RenewalLabel.allCases.map {
            #"cloakroom_renewals_total{outcome="\#($0.value)"} \#($0 == .notFound ? 1 : 0)"#
        }
        expected += ["cloakroom_renewal_misconfigurations_total 0"]
        expected += ReleaseLabel.allCases.map { #"cloakroom_releases_total{outcome="\#($0.value)"} 0"# }
        expected += ["cloakroom_renewal_copies_allowed 0"]
        expected += CacheLabel.allCases.map {
            #"cloakroom_credential_cache_total{outcome="\#($0.value)"} \#($0 == .joined ? 1 : 0)"#
        }
        expected += RedisFailureLabel.allCases.map {
            #"cloakroom_redis_failures_total{reason="\#($0.value)"} \#([.readonly, .other].contains($0) ? 1 : 0)"#
        }
        expected += [
            "cloakroom_redis_repeats_total 0",
            #"cloakroom_issued_total{kind="credentials"} 0"#, #"cloakroom_issued_total{kind="upload"} 1"#,
            #"cloakroom_issued_total{kind="session"} 0"#,
        ]
        expected += ["cloakroom_audit_failures_total 0", "cloakroom_audit_lines_trimmed_total 0"]
        expected += EventType.allCases.map { #"cloakroom_events_total{type="\#($0.value)"} 0"# }
        expected += EventDeliveryLabel.allCases.map {
            #"cloakroom_event_deliveries_total{outcome="\#($0.value)"} 0"#
        }
        expected += EventLossLabel.allCases.map { #"cloakroom_events_undelivered_total{reason="\#($0.value)"} 0"# }
        expected += SpanLabel.allCases.map { #"cloakroom_spans_total{outcome="\#($0.value)"} 0"# }
        expected += ["cloakroom_log_lines_dropped_total 1", "cloakroom_worker_starts_total 1"]
        #expect(samples == expected)
    }

    /// The keys of the settings, which nothing renews.
    @Test(arguments: [
        ("ExpiredToken", "stale_credentials"), ("InvalidClientTokenId", "stale_credentials"),
        ("SignatureDoesNotMatch", "refused"), ("AccessDenied", "refused"),
    ])
    @LoopActor func `tells credentials that AWS does not take from other refusals, with none to take their place`(
        code: String, outcome: String
    ) async throws {
        let metrics = try Metrics()
        let sts = STSClient(
            endpoint: try .sts(region: "eu-central-1"), transport: ScriptedTransport { _ in .error(403, code) },
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            isolation: LoopActor.shared,
            onAttempt: { attempt in LoopActor.assumeIsolated { metrics.attempted(attempt) } })
        await #expect(throws: AWSError(.refused, status: 403, code: code)) {
            _ = try await sts.callerIdentity(deadline: .now + .seconds(5))
        }
        #expect(
            lines(metrics).filter { $0.hasPrefix("cloakroom_upstream_attempts_total") } == [
                #"cloakroom_upstream_attempts_total{upstream="sts",outcome="\#(outcome)"} 1"#
            ])
    }

    @Test @LoopActor func `counts fetches of keys by issuer, whatever its name holds`() throws {
        var names = MetricNames()
        names.issuers = ["a\"b\\c\nd", "https://issuer.example"]
        let metrics = try Metrics(names)
        metrics.fetchedKeys(of: names.issuers[0], .timeout)
        metrics.fetchedKeys(of: names.issuers[1], nil)
        metrics.fetchedKeys(of: "https://other.example", nil)
        #expect(
            lines(metrics).filter { $0.hasPrefix("cloakroom_key_fetches_total") } == [
                #"cloakroom_key_fetches_total{issuer="a\"b\\c\nd",outcome="timeout"} 1"#,
                #"cloakroom_key_fetches_total{issuer="https://issuer.example",outcome="success"} 1"#,
            ])
    }

    @Test(arguments: ErrorCode.allCases) func `has a series for each status that a route sends`(code: ErrorCode) {
        #expect(StatusLabel(code.status) != .other)
    }

    @Test @LoopActor func `announces each family once, before its samples`() throws {
        let metrics = try Metrics()
        metrics.answered(RouteLabel(.health), status: 200, nanoseconds: 1)
        var family = ""
        var seen: Set<String> = []
        for line in lines(metrics) {
            let words = line.split(separator: " ")
            if line.hasPrefix("# HELP ") {
                family = String(words[2])
                #expect(seen.insert(family).inserted)
            } else if line.hasPrefix("# TYPE ") {
                #expect(words[2] == family && ["counter", "gauge", "histogram"].contains(words[3]))
            } else {
                #expect(line.hasPrefix(family))
            }
        }
        #expect(seen.count == 30)
    }

    @Test @LoopActor func `adds up the rows of all workers, and a replaced one goes on in its row`() throws {
        let folder = try TemporaryFolder()
        let metrics = MetricsFolder(path: folder["metrics"])
        let one = try metrics.metrics(worker: "unix:/run/worker-1.sock")
        let two = try metrics.metrics(worker: "unix:/run/worker-2.sock")
        one.issued(.upload(objectKey: "k", until: Date()))
        two.issued(.upload(objectKey: "k", until: Date()))
        try metrics.metrics(worker: "unix:/run/worker-1.sock").issued(.upload(objectKey: "k", until: Date()))
        let sums = metrics.sums(of: one.layout)
        #expect(sums.workers == 2)
        #expect(sums.values[one.layout.issued[.upload]] == 3)
        #expect(sums.values[one.layout.starts.index] == 3)
    }
}
