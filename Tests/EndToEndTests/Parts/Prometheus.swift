import Foundation

/// A Prometheus server that scrapes one target, as often as it can.
final class Prometheus {
    let port: Int
    private let program: RunningProgram

    init(folder: String, target port: Int) throws {
        let folder = "\(folder)/prometheus"
        self.port = try Ports.free()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try """
        global: {scrape_interval: 200ms, scrape_timeout: 200ms}
        scrape_configs:
          - job_name: cloakroom
            static_configs: [{targets: ["127.0.0.1:\(port)"]}]
        """.write(toFile: "\(folder)/prometheus.yml", atomically: false, encoding: .utf8)
        program = try RunningProgram(
            try Programs.prometheus,
            [
                "--config.file=\(folder)/prometheus.yml", "--storage.tsdb.path=\(folder)/data",
                "--web.listen-address=127.0.0.1:\(self.port)", "--log.level=error",
            ], output: "\(folder)/output", atDeath: "TERM")
        try wait(for: "Prometheus: \(program.text)", within: .seconds(20)) {
            (try? HTTPClient.ask(port: self.port, .get("/-/ready")))?.status == 200
        }
    }

    func stop() { program.stop(SIGTERM) }

    /// Evaluates an expression now.
    ///
    /// - Returns: the values of all series; those of all their points for a range or a subquery.
    func values(_ expression: String) throws -> [Double] {
        let allowed = CharacterSet.alphanumerics
        let query = expression.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        let reply = try HTTPClient.ask(port: port, .get("/api/v1/query?query=\(query)"))
        let data = reply.json["data"] as? [String: Any]
        return (data?["result"] as? [[String: Any]] ?? []).flatMap { series -> [Double] in
            let points = series["values"] as? [[Any]] ?? [series["value"] as? [Any] ?? []]
            return points.compactMap { ($0.last as? String).flatMap { Double($0) } }
        }
    }
}
