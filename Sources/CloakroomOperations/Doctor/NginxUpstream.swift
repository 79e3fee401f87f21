/// The servers of nginx's `upstream` block, as its file names them (nginx.org, ngx_http_upstream_module, "server").
package struct NginxUpstream: Sendable, Equatable {
    package let file: String
    let servers: [String]

    /// - Parameter text: of the file. What it includes is not read.
    package init(file: String, text: String) {
        self.file = file
        servers = text.split(whereSeparator: \.isNewline).flatMap { line in
            line.prefix { $0 != "#" }.split { $0 == ";" || $0 == "{" || $0 == "}" }.compactMap { directive in
                let words = directive.split(whereSeparator: \.isWhitespace)
                // One that is down gets no requests.
                guard words.count > 1, words[0] == "server", !words.contains("down") else { return nil }
                return String(words[1])
            }
        }
    }

    /// - Parameter workers: the addresses at which they listen.
    func findings(_ workers: [String]) -> [Finding] {
        let check = CheckName.sockets
        let (known, listening) = (Set(servers), Set(workers))
        let unused = workers.filter { !known.contains($0) }
        let vacant = servers.filter { !listening.contains($0) }
        var findings: [Finding] = []
        if !unused.isEmpty {
            findings.append(
                check.warning(
                    "\(file) lacks \(unused.joined(separator: ", "))",
                    why: "nginx sends these workers no requests: they take memory and serve nothing",
                    advice: "add a server line for each, and reload nginx"))
        }
        if !vacant.isEmpty {
            findings.append(
                check.warning(
                    "\(file) has \(vacant.joined(separator: ", ")), where no worker is to listen",
                    why: "nginx tries them again and again, before it takes another worker",
                    advice: "take these lines out, or start as many workers: serve --workers"))
        }
        return findings.isEmpty ? [check.ok("\(file) names all \(workers.count) workers and no other")] : findings
    }
}
