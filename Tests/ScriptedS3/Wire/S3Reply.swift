/// What goes back, and how well it arrives.
struct S3Reply {
    enum Delivery {
        case whole
        /// Half of it, then the connection ends.
        case half
        /// The connection is reset instead.
        case reset
        /// Nothing, until the other side goes.
        case silence
    }

    var status: Int
    var fields: [S3Request.Pair] = []
    var body: [UInt8] = []
    /// As S3 answers what may take its time: without a length.
    var isChunked = false
    /// So many spaces behind the body.
    var padding = 0
    var delivery = Delivery.whole
    /// For HEAD: fields of an answer whose body stays away.
    var hidesBody = false

    init(_ status: Int, fields: [S3Request.Pair] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    init(_ status: Int, xml: String, fields: [S3Request.Pair] = []) {
        let document = #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n" + xml
        self.init(
            status, fields: [.init(name: "Content-Type", value: "application/xml")] + fields,
            body: Array(document.utf8))
    }

    mutating func add(_ name: String, _ value: String?) {
        if let value { fields.append(.init(name: name, value: value)) }
    }

    /// On the wire, without the padding.
    var bytes: [UInt8] {
        var head = "HTTP/1.1 \(status) \(Self.phrases[status] ?? "Status")\r\n"
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        let hasNoBody = status == 204 || status == 304
        if isChunked && !hidesBody && !hasNoBody {
            head += "Transfer-Encoding: chunked\r\n\r\n"
            let chunk =
                body.isEmpty ? [] : Array("\(String(body.count, radix: 16))\r\n".utf8) + body + Array("\r\n".utf8)
            return Array(head.utf8) + chunk + Array("0\r\n\r\n".utf8)
        }
        if !hasNoBody && !fields.contains(where: { $0.name == "Content-Length" }) {
            head += "Content-Length: \(body.count + padding)\r\n"
        }
        return Array((head + "\r\n").utf8) + (hidesBody || hasNoBody ? [] : body)
    }

    private static let phrases = [
        200: "OK", 201: "Created", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently",
        307: "Temporary Redirect", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 409: "Conflict",
        412: "Precondition Failed", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Slow Down",
    ]
}
