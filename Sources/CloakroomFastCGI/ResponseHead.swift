import CloakroomHTTP

extension Response {
    /// No head of it is longer than this.
    var headRoom: Int { 96 + fields.text.count + fields.count }

    /// RFC 9110 §15; what is not in use here needs none.
    fileprivate var reason: StaticString {
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

extension OutputSpan<UInt8> {
    /// The CGI header block (RFC 3875 §6.3). Line breaks in a value would start a field of their own: they go.
    mutating func append(headOf response: Response) {
        append("Status: ")
        append(decimal: response.status)
        append(" ")
        append(response.reason)
        // Without it nginx responds in chunks.
        append("\r\nContent-Length: ")
        append(decimal: response.body.count)
        append("\r\n")
        let text = response.fields.text.span
        let holdsLineBreak = text.holds(0x0D) || text.holds(0x0A)
        for location in response.fields.locations {
            let line = text.extracting(location.line)
            if holdsLineBreak { append(inOneLine: line) } else { append(copying: line) }
            append("\r\n")
        }
        append("\r\n")
    }

    private mutating func append(_ text: StaticString) {
        unsafe append(copying: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).span)
    }

    private mutating func append(inOneLine text: Span<UInt8>) {
        for index in text.indices where text[index] != 0x0D && text[index] != 0x0A { append(text[index]) }
    }
}
