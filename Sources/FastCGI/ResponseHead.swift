import HTTPValues

extension Response {
    /// The CGI header block (RFC 3875 §6.3). Line breaks in a value would start a field of their own: they go.
    var head: [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(80 + fields.text.count + fields.count)
        head.append(contentsOf: "Status: ".utf8)
        head.append(contentsOf: String(status).utf8)
        head.append(contentsOf: " ".utf8)
        head.append(contentsOf: reason.utf8)
        // Without it nginx answers in chunks.
        head.append(contentsOf: "\r\nContent-Length: ".utf8)
        head.append(contentsOf: String(body.count).utf8)
        head.append(contentsOf: "\r\n".utf8)
        for place in fields.places {
            let line = fields.text[place.line]
            if Self.holdsLineBreak(line.span) {
                head.append(contentsOf: line.lazy.filter { $0 != 0x0D && $0 != 0x0A })
            } else {
                head.append(contentsOf: line)
            }
            head.append(0x0D)
            head.append(0x0A)
        }
        head.append(contentsOf: "\r\n".utf8)
        return head
    }

    /// Without an early end, so that the compiler looks at many bytes at once.
    private static func holdsLineBreak(_ text: Span<UInt8>) -> Bool {
        var found = false
        for index in text.indices {
            let byte = text[index]
            found = (byte == 0x0D) || (byte == 0x0A) || found
        }
        return found
    }

    /// RFC 9110 §15; what is not in use here needs none.
    private var reason: String {
        switch status {
        case 200: "OK"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
