import Foundation

/// curl(1) for S3: it signs by itself, so that what it proves does not rest on our signing.
enum Curl {
    /// - Parameter session: the session token of vended credentials.
    static func signed(
        _ method: String, _ url: String, key: String, secret: String, session: String?, body: String? = nil,
        fields: [String: String] = [:]
    ) throws -> TestResponse {
        var fields = fields
        fields["x-amz-content-sha256"] = "UNSIGNED-PAYLOAD"
        if let session { fields["x-amz-security-token"] = session }
        return try run(
            method, url, fields: fields, body: body,
            configuration: "user = \"\(key):\(secret)\"\naws-sigv4 = \"aws:amz:\(SeaweedFS.region):s3\"\n")
    }

    static func run(
        _ method: String, _ url: String, fields: [String: String] = [:], body: String? = nil, configuration: String = ""
    ) throws -> TestResponse {
        let folder = try RunFolder.make("curl")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var lines = configuration + "url = \"\(url)\"\nsilent\nshow-error\ninclude\nmax-time = 15\nhttp1.1\n"
        lines += method == "HEAD" ? "head\n" : "request = \"\(method)\"\n"
        for (name, value) in fields { lines += "header = \"\(name): \(value)\"\n" }
        if let body {
            try body.write(toFile: "\(folder)/body", atomically: false, encoding: .utf8)
            // Unlike `data`, it sends no content type of its own.
            lines += "upload-file = \"\(folder)/body\"\n"
        }
        try lines.write(toFile: "\(folder)/curl.conf", atomically: false, encoding: .utf8)
        let curl = try RunningProgram("/usr/bin/curl", ["-K", "\(folder)/curl.conf"], output: "\(folder)/answer")
        _ = try curl.waitForEnd(within: .seconds(20))
        // "Go on with the body", and then the response (RFC 9110 §15.2.1); Ceph writes it in capitals.
        let text = ["Continue", "CONTINUE"].reduce(curl.text) { $0.replacing("HTTP/1.1 100 \($1)\r\n\r\n", with: "") }
        guard let reply = TestResponse(Array(text.utf8)) else {
            throw MissingProgramError(
                description: "curl \(method) exited with \(curl.status ?? -1): \(curl.text.prefix(300))")
        }
        return reply
    }
}
