import Foundation

/// An nginx with the files of nginx/, on an unprivileged port.
final class Nginx {
    /// Where STS' own wire is at the root as well, as the manual's page about nginx has it.
    static let stsHost = "sts.localhost"

    let port: Int
    private let folder: String
    let program: RunningProgram

    init(folder: String, workers: [String]) throws {
        self.folder = "\(folder)/nginx"
        port = try Ports.free()
        try FileManager.default.createDirectory(atPath: "\(self.folder)/temp", withIntermediateDirectories: true)
        // The files include each other as cloakroom/<name>, as they do under /etc/nginx.
        try FileManager.default.createSymbolicLink(
            atPath: "\(self.folder)/cloakroom", withDestinationPath: "\(Programs.checkout)/nginx")
        try Self.configuration(folder: self.folder, port: port, workers: workers)
            .write(toFile: "\(self.folder)/nginx.conf", atomically: false, encoding: .utf8)
        program = try RunningProgram(
            try Programs.nginx,
            ["-e", "\(self.folder)/error.log", "-p", self.folder, "-c", "\(self.folder)/nginx.conf"],
            output: "\(self.folder)/output", atDeath: "TERM")
        let port = port
        try wait(for: "nginx: \(program.text)\(RunFolder.text(of: "\(self.folder)/error.log"))", within: .seconds(10)) {
            (try? Socket(port: port)) != nil
        }
    }

    /// nginx(8): SIGHUP starts new worker processes with the configuration as it is now.
    func reload() { program.signal(SIGHUP) }

    func stop() { program.stop(SIGTERM) }

    var accessLog: String { RunFolder.text(of: "\(folder)/access.log") }
    var errorLog: String { RunFolder.text(of: "\(folder)/error.log") }

    func ask(_ ask: TestRequest) throws -> TestResponse { try HTTPClient.ask(port: port, ask) }

    /// As deploy/lib/nginx.sh writes it.
    private static func configuration(folder: String, port: Int, workers: [String]) throws -> String {
        let upstream = try String(contentsOfFile: "\(Programs.checkout)/nginx/upstream.conf", encoding: .utf8)
            .components(separatedBy: "\n")
            .filter { !$0.hasPrefix("    server unix:") && $0 != "}" }
        let servers = workers.map { "    server unix:\($0) max_fails=0;" }
        let temporary = ["client_body", "fastcgi", "proxy", "scgi", "uwsgi"]
            .map { "    \($0)_temp_path \(folder)/temp/\($0);" }
        // Started by root, nginx would drop to a user who may not enter the folder of the sockets.
        let user = getuid() == 0 ? ["user root;"] : []
        return
            (user + [
                "worker_processes 2;", "daemon off;", "pid \(folder)/nginx.pid;", "error_log \(folder)/error.log;",
                "events { worker_connections 4096; }", "http {",
            ] + temporary + ["    include cloakroom/log.conf;", "    include cloakroom/addresses.conf;"] + upstream
            + servers + [
                "    }", "    server {", "        listen 127.0.0.1:\(port) backlog=4096;",
                "        access_log \(folder)/access.log cloakroom;", "        include cloakroom/server.conf;", "    }",
                "    server {", "        listen 127.0.0.1:\(port);", "        server_name \(stsHost);",
                "        access_log \(folder)/access.log cloakroom;", "        include cloakroom/server.conf;",
                "        location = / { include cloakroom/sts.conf; }", "    }", "}",
            ]).joined(separator: "\n")
    }
}
