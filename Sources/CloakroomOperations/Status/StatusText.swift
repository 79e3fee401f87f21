package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What `/status` says, for a terminal.
package struct StatusText {
    private let status: JSON.Object
    private let now: Date

    /// - Parameter body: of the response.
    /// - Returns: `nil` for what is no status.
    package init?(_ body: [UInt8], now: Date = Date()) {
        guard let status = (try? JSON(parsing: body))?.object, status["all"]?.object != nil,
            status["workers"]?.array != nil
        else { return nil }
        (self.status, self.now) = (status, now)
    }

    package var json: JSON { .object(status) }

    package var text: String {
        let workers = status["workers"]?.array?.compactMap(\.object) ?? []
        let ordered = workers.sorted {
            ($0.word("worker"), $0.count("process")) < ($1.word("worker"), $1.count("process"))
        }
        let omitted = status.count("omitted")
        return ([all] + ordered.map(worker) + (omitted > 0 ? ["\(omitted) more workers are not listed"] : []))
            .joined(separator: "\n\n")
    }

    /// All workers together.
    private var all: String {
        let all = status.part("all")
        let minute = all.part("minute")
        let seconds = Double(minute.count("milliseconds")) / 1000
        let rate = seconds > 0 ? "\((Double(minute.count("requests")) / seconds).short)/s" : "-"
        return table([
            ["all", "\(all.count("workers")) workers, the last \(Int(seconds)) s"],
            ["requests", "\(rate), \(minute.count("failures")) failed, \(minute.durations)"],
            ["STS", upstream(all.part("sts"))],
            ["S3", upstream(all.part("s3"))],
            ["cache", cache(all.part("cache"))],
        ])
    }

    private func worker(_ worker: JSON.Object) -> String {
        let age = worker.count("ageMilliseconds")
        var title = "\(worker.word("worker"))  process \(worker.count("process")), version \(worker.word("version"))"
        title += ", up \(span(since: worker.word("since"))), \(worker.count("inFlight")) in flight"
        title += ", \(worker.part("memory").count("residentBytes") / 1024 / 1024) MiB"
        if worker["draining"]?.bool == true { title += ", draining" }
        if age > 5000 { title += ", silent for \(age / 1000) s" }
        let redis = worker.part("redis")
        let queues = worker.part("queues")
        var rows = [
            [
                "Redis",
                [
                    redis["ready"]?.bool == true ? redis.word("role") : "not connected", redis.word("kind"),
                    redis["servers"]?.strings?.map(\.plain).joined(separator: " ") ?? "",
                    redis.time("roundTripMicroseconds"), "\(redis.count("pending")) pending",
                ].filter { !$0.isEmpty }.joined(separator: ", "),
            ],
            ["STS", upstream(worker.part("sts"))], ["S3", upstream(worker.part("s3"))],
            ["cache", cache(worker.part("cache")) + ", \(queues.count("credentialsHeld")) held"],
            [
                "queues",
                "\(queues.count("objectsWaiting")) objects wait, \(queues.count("objectsOnTheWay")) of "
                    + "\(queues.count("objectsAllowed")) on the way, \(queues.count("credentialsAwaited")) STS calls",
            ],
        ]
        rows += worker.parts("credentials").map { own in
            let end = own["expires"]?.string.map { "end in \(span(until: $0))" } ?? "do not end"
            let profile = own["profile"]?.string.map { " of \($0.plain)" } ?? ""
            return ["keys" + profile, own.word("provider") + ", " + (own["usable"]?.bool == true ? end : "not usable")]
        }
        rows += worker.parts("breakers").filter { $0.word("state") != "closed" }.map {
            ["role", "\($0.word("role")): \($0.word("state")) after \($0.count("failures")) failures"]
        }
        rows += worker.part("faults").members.map {
            ["not ready", "\($0.name.plain): \($0.value.string?.plain ?? "")"]
        }
        rows += worker.parts("failures").map { failure in
            let reason = failure["reason"]?.string.map { ": \($0.plain)" } ?? ""
            return [
                failure.word("level"),
                "\(failure.count("count")) × \(failure.word("message"))\(reason), last \(span(since: failure.word("last"))) ago",
            ]
        }
        return ([title, routes(worker)] + [table(rows, margin: "  ")]).filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private func routes(_ worker: JSON.Object) -> String {
        let routes = worker.parts("routes").map { route in
            [
                route.word("route"), "\(route.count("inFlight"))", "\(route.count("requests"))",
                "\(route.count("failures"))", route.time("p50Microseconds"), route.time("p99Microseconds"),
            ]
        }
        guard !routes.isEmpty else { return "" }
        return table([["route", "now", "minute", "5xx", "p50", "p99"]] + routes, margin: "  ")
    }

    private func upstream(_ upstream: JSON.Object) -> String {
        let attempts = upstream.count("attempts")
        return attempts == 0
            ? "no attempts" : "\(attempts) attempts, \(upstream.count("failures")) failed, \(upstream.durations)"
    }

    private func cache(_ cache: JSON.Object) -> String {
        let lookups = cache.count("lookups")
        guard lookups > 0 else { return "no look-ups" }
        return "\((100 * Double(cache.count("hits")) / Double(lookups)).short) % of \(lookups) look-ups"
    }

    /// Columns as wide as they must be, the last one of any width.
    private func table(_ rows: [[String]], margin: String = "") -> String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            margin
                + row.enumerated().map { column, text in
                    column == row.count - 1 ? text : text.padding(to: widths[column])
                }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    private func span(since text: String) -> String {
        date(text).map { TimeSpan.text(now.timeIntervalSince($0)) } ?? "?"
    }
    private func span(until text: String) -> String {
        date(text).map { TimeSpan.text($0.timeIntervalSince(now)) } ?? "?"
    }
    private func date(_ text: String) -> Date? { try? Date(text, strategy: .iso8601) }
}

extension JSON.Object {
    fileprivate func part(_ name: String) -> JSON.Object { self[name]?.object ?? [:] }
    fileprivate func parts(_ name: String) -> [JSON.Object] { self[name]?.array?.compactMap(\.object) ?? [] }
    fileprivate func count(_ name: String) -> Int { self[name]?.integer ?? 0 }
    fileprivate func word(_ name: String) -> String { self[name]?.string?.plain ?? "?" }

    fileprivate func time(_ name: String) -> String {
        guard let microseconds = self[name]?.number.map({ max(0, min($0, 1e15)) }) else { return "-" }
        switch microseconds {
        case ..<1000: return "\(Int(microseconds)) µs"
        case ..<1_000_000: return "\((microseconds / 1000).short) ms"
        default: return "\((microseconds / 1_000_000).short) s"
        }
    }

    fileprivate var durations: String { "p50 \(time("p50Microseconds")), p99 \(time("p99Microseconds"))" }
}

extension Double {
    /// Three digits are enough.
    fileprivate var short: String {
        let value = max(-1e15, min(self, 1e15))
        let tenths = Int((value * 10).rounded())
        return value >= 100 || tenths % 10 == 0 ? "\(Int(value.rounded()))" : "\(tenths / 10).\(tenths % 10)"
    }
}

extension String {
    /// Without what moves a terminal's cursor: the response may be another program's.
    fileprivate var plain: String {
        String(String.UnicodeScalarView(unicodeScalars.filter { (0x20...0x7E).contains($0.value) }))
    }
}
