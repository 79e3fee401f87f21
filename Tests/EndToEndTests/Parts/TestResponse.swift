import Foundation

/// An answer, whoever brought it: nginx over HTTP, or the worker itself over FastCGI.
struct TestResponse {
    let status: Int
    /// By lower-case name.
    let fields: [String: String]
    let body: [UInt8]

    /// - Parameter bytes: head and body, the head beginning with an HTTP status line or holding a CGI `Status` field.
    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        var lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        var status: Int?
        if let first = lines.first, first.hasPrefix("HTTP/") {
            status = Int(first.split(separator: " ").dropFirst().first ?? "")
            lines.removeFirst()
        }
        var fields: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }
            fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        guard let status = status ?? fields["status"].flatMap({ Int($0.prefix(3)) }) else { return nil }
        self.status = status
        self.fields = fields
        body = Array(bytes[end.upperBound...])
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body's JSON; empty if it has none.
    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
    }

    subscript(_ name: String) -> String? { json[name] as? String }

    /// Status and body in one text, to be compared whole.
    var told: String { "\(status) \(text)" }
}

/// A request, whichever way it goes.
struct TestRequest {
    var method = "GET"
    var target: String
    var fields: [String: String] = [:]
    var body: [UInt8] = []

    static func get(_ target: String, token: String? = nil) -> TestRequest {
        TestRequest(target: target, fields: token.map { ["Authorization": "Bearer \($0)"] } ?? [:])
    }

    static func vend(_ token: String) -> TestRequest {
        TestRequest(method: "POST", target: "/api/v1/auth/sts-token", fields: ["X-Convos-AuthToken": token])
    }

    static func vend(_ token: String, scope: String) -> TestRequest {
        var ask = vend(token)
        ask.fields["Content-Type"] = "application/json"
        ask.body = Array(#"{"scope":"\#(scope)"}"#.utf8)
        return ask
    }

    /// - Parameter json: the body; empty for none.
    static func post(_ target: String, token: String, json: String = "") -> TestRequest {
        var ask = TestRequest(method: "POST", target: target, fields: ["X-Convos-AuthToken": token])
        if !json.isEmpty { ask.fields["Content-Type"] = "application/json" }
        ask.body = Array(json.utf8)
        return ask
    }

    static func presign(_ token: String, query: String = "contentType=image/jpeg&filename=a.jpg") -> TestRequest {
        .get("/v2/attachments/presigned?\(query)", token: token)
    }

    static func renew(_ token: String, _ keys: [String]) -> TestRequest {
        let body = (try? JSONSerialization.data(withJSONObject: ["assetKeys": keys])) ?? Data()
        return renew(token, body: String(decoding: body, as: UTF8.self))
    }

    static func renew(_ token: String, body: String) -> TestRequest {
        TestRequest(
            method: "POST", target: "/v2/assets/renew-batch",
            fields: ["X-Convos-AuthToken": token, "Content-Type": "application/json"], body: Array(body.utf8))
    }

    /// - Parameter form: the body; empty for none.
    static func form(_ target: String, _ form: String, host: String) -> TestRequest {
        var ask = TestRequest(method: "POST", target: target, fields: ["Host": host], body: Array(form.utf8))
        if !form.isEmpty { ask.fields["Content-Type"] = "application/x-www-form-urlencoded" }
        return ask
    }

    static let health = get("/healthz")
    static let readiness = get("/readyz")
    static let ready = get("/readyz")
    static let metrics = get("/metrics")
}
