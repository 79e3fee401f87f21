import CloakroomTestSupport
import Foundation
import Testing

extension EndToEnd {
    /// `cloakroom load` against real workers. How late the generator is on a busy machine is not tested here.
    @Suite struct LoadCommandRuns {
        private struct Report {
            let status: Int32?
            let values: [String: Any]
            let text: String

            var step: [String: Any] { (values["steps"] as? [[String: Any]])?.first ?? [:] }
            var all: [String: Any] { step["all"] as? [String: Any] ?? [:] }
            var errors: Int? { all["errors"] as? Int }
        }

        private func load(_ words: [String], file: String) throws -> Report {
            let command = try Command(["load", "--json", file] + words, within: .seconds(60))
            let data = (try? Data(contentsOf: URL(fileURLWithPath: file))) ?? Data("{}".utf8)
            let values = try JSONSerialization.jsonObject(with: data) as? [String: Any]
            return Report(status: command.status, values: values ?? [:], text: command.text)
        }

        /// - Parameter configuration: of its `http` block.
        private func nginx(_ configuration: String, port: Int, in folder: String) throws -> RunningProgram {
            try """
            \(getuid() == 0 ? "user root;" : "")
            daemon off;
            pid \(folder)/pid;
            events { worker_connections 1024; }
            http {
                client_body_temp_path \(folder)/body;
                \(configuration)
            }
            """.write(toFile: "\(folder)/conf", atomically: false, encoding: .utf8)
            let nginx = try RunningProgram(
                try Programs.nginx, ["-e", "\(folder)/error", "-p", folder, "-c", "\(folder)/conf"],
                output: "\(folder)/output", atDeath: "TERM")
            try wait(for: "nginx: \(nginx.text)", within: .seconds(10)) { (try? Socket(port: port)) != nil }
            return nginx
        }

        @Test func `sends a mix through nginx with tokens that the workers accept`() throws {
            try Stack.run("load", Stack.Options(nginx: true, s3: true)) { stack in
                let port = try #require(stack.nginx).port
                let page = "\(stack.folder)/load.html"
                let report = try load(
                    [
                        "--settings", stack.settingsFile, "--mix", "vend=5,upload=2,upload-post=1,container=1,health=1",
                        "--users", "60", "--devices", "2", "--rate", "40", "--duration", "3s", "--warm-up", "500ms",
                        "--html", page, "--listen", "unix:\(stack.socket())", "--fail-if", "errors>0", "--fail-if",
                        "max>10s", "http://127.0.0.1:\(port)",
                    ], file: "\(stack.folder)/load.json")
                #expect(report.status == 0 || report.status == 3, "\(report.text)")
                #expect(report.errors == 0, "\(report.text)")
                #expect(report.all["requests"] as? Int == 120)
                #expect((report.all["statuses"] as? [String: Int]) == ["200": 120])
                #expect((report.step["routes"] as? [String: Any])?.count == 5)
                let workers = report.values["workers"] as? [[String: Any]] ?? []
                #expect(workers.count == 1)
                #expect(workers.first?["mostBytes"] as? Int ?? 0 > 1_000_000)
                #expect(try String(contentsOfFile: page, encoding: .utf8).contains("CPU of the workers"))
            }
        }

        @Test func `speaks FastCGI with a worker itself, and fails where a bar is broken`() throws {
            try Stack.run("load-fastcgi") { stack in
                let words = ["--mix", "health", "--rate", "100", "--duration", "2s", "--warm-up", "0s"]
                let good = try load(words + ["unix:\(stack.socket())"], file: "\(stack.folder)/good.json")
                #expect((good.all["statuses"] as? [String: Int]) == ["200": 200], "\(good.text)")
                #expect((good.values["workers"] as? [Any])?.count == 1)
                let bad = try load(
                    words + ["--fail-if", "p50>1us", "unix:\(stack.socket())"], file: "\(stack.folder)/bad.json")
                #expect(bad.status == 1 || bad.status == 3, "\(bad.text)")
                #expect(bad.text.contains("p50>1us  broken: "))
                let unreachable = try load(words + ["unix:\(stack.folder)/none"], file: "\(stack.folder)/none.json")
                #expect(unreachable.status == 1, "\(unreachable.text)")
                #expect((unreachable.all["failures"] as? [String: Int]) == ["unreachable": 200])
                let remote = try load(words + ["https://api.example.com"], file: "\(stack.folder)/remote.json")
                #expect(remote.status == 2)
                #expect(remote.text.contains("add --yes-load api.example.com"))
            }
        }

        /// A bar whose route had no request, and a report that cannot be written.
        @Test func `says what was not measured, and looks at its files before a request is sent`() throws {
            try Stack.run("load-unmeasured") { stack in
                let words = ["--mix", "health=999999,ready=1", "--rate", "50", "--duration", "1s", "--warm-up", "0s"]
                let report = try load(
                    words + ["--fail-if", "ready:p99>9s,ready:errors>0%", "unix:\(stack.socket())"],
                    file: "\(stack.folder)/load.json")
                #expect(report.status == 1 || report.status == 3, "\(report.text)")
                #expect(report.text.contains("ready:p99>9s  broken: not measured at 50/s"))
                #expect(report.text.contains("ready:errors>0%  broken: not measured at 50/s"))
                let nowhere = try load(words + ["unix:\(stack.socket())"], file: "/nonexistent/load.json")
                #expect(nowhere.status == 2 && !nowhere.text.contains("offered"), "\(nowhere.text)")
                let full = try load(
                    words + ["--html", "/dev/full", "unix:\(stack.socket())"], file: "\(stack.folder)/full.json")
                #expect(full.status == 3)
                #expect(full.text.contains("/dev/full could not be written: No space left on device"))
            }
        }

        @Test func `a search for the knee ends where the users' limits are used up`() throws {
            try Stack.run("load-limits", .init(s3: true) { $0["limits.vend.requests"] = 1 }) { stack in
                try stack.waitUntilReady()
                let report = try load(
                    [
                        "--settings", stack.settingsFile, "--find-knee", "--rate", "50", "--duration", "1s",
                        "--warm-up", "0s", "--users", "2", "--fail-if", "errors>50%", "unix:\(stack.socket())",
                    ], file: "\(stack.folder)/load.json")
                #expect(report.status == 1, "\(report.text)")
                let knee = report.values["knee"] as? [String: Any] ?? [:]
                #expect(knee["found"] as? Bool == false)
                #expect((knee["text"] as? String)?.contains("are 429: limits are used up, which is no knee") == true)
            }
        }

        @Test func `a search for the knee tries lower rates where the first breaks a bar, and says that none keeps it`()
            throws
        {
            try Stack.run("load-knee") { stack in
                let report = try load(
                    [
                        "--find-knee", "--mix", "health", "--rate", "200", "--duration", "500ms", "--warm-up", "0s",
                        "--fail-if", "p50>1us", "unix:\(stack.socket())",
                    ], file: "\(stack.folder)/load.json")
                // A machine that is busy may end it for the generator's lateness.
                #expect(report.status == 1 || report.status == 3, "\(report.text)")
                #expect((report.values["knee"] as? [String: Any])?["found"] as? Bool == false)
                #expect(report.text.contains("200/s breaks the bars: p99 "))
                #expect(report.text.contains("knee       none found: "))
            }
        }

        @Test func `a search for the knee finds it where a server begins to refuse`() throws {
            let folder = try RunFolder.make("load-refused")
            let port = try Ports.free()
            try "ok".write(toFile: "\(folder)/healthz", atomically: false, encoding: .utf8)
            let nginx = try nginx(
                """
                limit_req_zone $binary_remote_addr zone=all:1m rate=60r/s;
                server {
                    listen 127.0.0.1:\(port);
                    access_log off;
                    limit_req zone=all burst=12 nodelay;
                    location / { root \(folder); }
                }
                """, port: port, in: folder)
            defer { nginx.stop(SIGTERM) }
            let report = try load(
                [
                    "--find-knee", "--mix", "health", "--rate", "20", "--duration", "1s", "--warm-up", "0s",
                    "--fail-if", "errors>10%", "http://127.0.0.1:\(port)",
                ], file: "\(folder)/load.json")
            let knee = report.values["knee"] as? [String: Any] ?? [:]
            // A machine that is busy may end it for the generator's lateness.
            try #require(report.status == 0 || report.status == 3, "\(report.text)")
            guard report.status == 0 else { return }
            #expect(knee["found"] as? Bool == true, "\(report.text)")
            // A second's burst beside a second's rate, and a tenth that may be refused.
            let rate = try #require(knee["good"] as? Double)
            #expect((60...90).contains(rate), "\(report.text)")
        }

        @Test func `a run that is stopped reports what was done`() throws {
            try Stack.run("load-stopped") { stack in
                let program = try RunningProgram(
                    try Programs.worker,
                    [
                        "load", "--mix", "health", "--rate", "50", "--duration", "5m", "--warm-up", "0s", "--json", "-",
                        "unix:\(stack.socket())",
                    ], output: "\(stack.folder)/output", environment: TestSettings.environment)
                defer { program.stop(SIGKILL) }
                Thread.sleep(forTimeInterval: 1.5)
                program.signal(SIGINT)
                #expect(try program.waitForEnd(within: .seconds(15)) == 3)
                let report = try JSONSerialization.jsonObject(with: Data(program.text.utf8)) as? [String: Any]
                #expect(report?["result"] as? String == "stopped")
                #expect(report?["valid"] as? Bool == false)
            }
        }

        @Test func `HTTP 2 over TLS carries all requests on few connections`() throws {
            let folder = try RunFolder.make("load-http2")
            let keys = try TemporaryFolder()
            let certificate = try TestCertificate(for: "IP:127.0.0.1", in: keys)
            let port = try Ports.free()
            let nginx = try nginx(
                """
                log_format used "$connection $server_protocol $request_method $uri $http_authorization";
                server {
                    listen 127.0.0.1:\(port) ssl http2;
                    ssl_certificate \(certificate.certificate);
                    ssl_certificate_key \(certificate.key);
                    access_log \(folder)/access used;
                    location / { return 200 "ok"; }
                }
                """, port: port, in: folder)
            defer { nginx.stop(SIGTERM) }
            try "a.b.c\n".write(toFile: "\(folder)/tokens", atomically: false, encoding: .utf8)
            for version in ["1.1", "2"] {
                try? FileManager.default.removeItem(atPath: "\(folder)/access")
                nginx.signal(SIGUSR1)
                Thread.sleep(forTimeInterval: 0.3)
                let report = try load(
                    [
                        "--http", version, "--ca", certificate.certificate, "--mix", "vend,renew", "--tokens",
                        "\(folder)/tokens", "--rate", "200", "--duration", "2s", "--warm-up", "500ms",
                        "https://127.0.0.1:\(port)",
                    ], file: "\(folder)/\(version).json")
                #expect((report.all["statuses"] as? [String: Int]) == ["200": 400], "\(report.text)")
                #expect(report.values["protocol"] as? String == "HTTP/\(version)")
                nginx.signal(SIGUSR1)
                let lines = try String(contentsOfFile: "\(folder)/access", encoding: .utf8).split(separator: "\n")
                    .map { $0.split(separator: " ").map(String.init) }
                #expect(lines.count == 500)
                let protocols: Set = [version == "2" ? "HTTP/2.0" : "HTTP/1.1"]
                #expect(Set(lines.map { $0[1] }) == protocols)
                #expect(lines.allSatisfy { $0[2] == "POST" && $0.suffix(2) == ["Bearer", "a.b.c"] })
                if version == "2" { #expect(Set(lines.map { $0[0] }).count <= 8) }
            }
        }
    }
}
