import Foundation

/// An nginx with the files of nginx/, on an unprivileged port.
final class Nginx {
    /// Where STS' own wire is at the root as well, as the manual's page about nginx has it.
    static let stsHost = "sts.localhost"

    let port: Int
    private let folder: String
    let program: RunningProgram

    /// - Parameter files: texts of files of nginx/ that differ, by name.
    init(folder: String, workers: [String], files: [String: String] = [:]) throws {
        self.folder = "\(folder)/nginx"
        port = try Ports.free()
        try FileManager.default.createDirectory(atPath: "\(self.folder)/temp", withIntermediateDirectories: true)
        // The files include each other as cloakroom/<name>, as they do under /etc/nginx.
        let includes = "\(self.folder)/cloakroom"
        if files.isEmpty {
            try FileManager.default.createSymbolicLink(atPath: includes, withDestinationPath: Self.files)
        } else {
            try FileManager.default.copyItem(atPath: Self.files, toPath: includes)
            for (name, text) in files {
                try text.write(toFile: "\(includes)/\(name)", atomically: false, encoding: .utf8)
            }
        }
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

    private static var files: String { "\(Programs.checkout)/nginx" }

    /// A file of nginx/ as it comes.
    static func text(of file: String) throws -> String {
        try String(contentsOfFile: "\(files)/\(file)", encoding: .utf8)
    }

    /// nginx(8): SIGHUP starts new worker processes with the configuration as it is now.
    func reload() { program.signal(SIGHUP) }

    func stop() { program.stop(SIGTERM) }

    var accessLog: String { RunFolder.text(of: "\(folder)/access.log") }
    var errorLog: String { RunFolder.text(of: "\(folder)/error.log") }

    func ask(_ ask: TestRequest) throws -> TestResponse { try HTTPClient.ask(port: port, ask) }

    /// As deploy/lib/nginx.sh writes it.
    private static func configuration(folder: String, port: Int, workers: [String]) throws -> String {
        let upstream = try text(of: "upstream.conf")
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
            ] + temporary + ["log", "addresses", "browsers"].map { "    include cloakroom/\($0).conf;" } + upstream
            + servers + [
                "    }", "    server {", "        listen 127.0.0.1:\(port) backlog=4096;",
                "        access_log \(folder)/access.log cloakroom;", "        include cloakroom/server.conf;", "    }",
                "    server {", "        listen 127.0.0.1:\(port);", "        server_name \(stsHost);",
                "        access_log \(folder)/access.log cloakroom;", "        include cloakroom/server.conf;",
                "        location = / { include cloakroom/sts.conf; }", "    }", "}",
            ]).joined(separator: "\n")
    }
}
