import CloakroomHTTP

/// The records of a response; written here, because libfcgi is done with a request once it has parsed it.
enum ResponseEncoder {
    /// The most that one record holds (§3.3).
    private static let recordBytes = 65_535

    /// Appends a whole response: STDOUT in as many records as it takes, its end, and the request's (§5.3, §5.5).
    static func append(_ response: Response, to requestID: UInt16, in output: inout [UInt8]) {
        let room = response.headRoom + response.body.count
        guard room <= recordBytes else { return appendLarge(response, to: requestID, in: &output) }
        output.append(addingCapacity: room + 4 * RecordHeader.headerBytes) { output in
            output.append(headerOf: .output, requestID, contentLength: 0)
            output.append(headOf: response)
            output.append(copying: response.body.span)
            let length = output.count - RecordHeader.headerBytes
            output[4] = UInt8(length >> 8)
            output[5] = UInt8(length & 0xFF)
            output.append(endOf: requestID)
        }
    }

    static func records(of response: Response, to requestID: UInt16) -> [UInt8] {
        var records: [UInt8] = []
        append(response, to: requestID, in: &records)
        return records
    }

    private static func appendLarge(_ response: Response, to requestID: UInt16, in output: inout [UInt8]) {
        var content: [UInt8] = []
        content.append(addingCapacity: response.headRoom + response.body.count) { content in
            content.append(headOf: response)
            content.append(copying: response.body.span)
        }
        let records = (content.count + recordBytes - 1) / recordBytes
        output.append(addingCapacity: content.count + (records + 3) * RecordHeader.headerBytes) { output in
            for start in stride(from: 0, to: content.count, by: recordBytes) {
                let part = content.span.extracting(start..<min(start + recordBytes, content.count))
                output.append(headerOf: .output, requestID, contentLength: part.count)
                output.append(copying: part)
            }
            output.append(endOf: requestID)
        }
    }

    /// The response to GET_VALUES (§4.1): one loop multiplexes connections, not the requests of one.
    static func values(connections: Int) -> [UInt8] {
        let pairs = [
            ("FCGI_MAX_CONNS", String(connections)), ("FCGI_MAX_REQS", String(connections)), ("FCGI_MPXS_CONNS", "0"),
        ]
        let content = pairs.flatMap { name, value in
            [UInt8(name.utf8.count), UInt8(value.utf8.count)] + name.utf8 + value.utf8
        }
        var record: [UInt8] = []
        record.append(addingCapacity: RecordHeader.headerBytes + content.count) { record in
            record.append(headerOf: .getValuesResult, 0, contentLength: content.count)
            record.append(copying: content.span)
        }
        return record
    }
}

extension OutputSpan<UInt8> {
    fileprivate mutating func append(headerOf kind: RecordHeader.Kind, _ requestID: UInt16, contentLength: Int) {
        append(1)
        append(kind.rawValue)
        append(UInt8(requestID >> 8))
        append(UInt8(requestID & 0xFF))
        append(UInt8(contentLength >> 8))
        append(UInt8(contentLength & 0xFF))
        append(repeating: 0, count: 2)
    }

    /// No more of STDOUT, and the request is complete.
    fileprivate mutating func append(endOf requestID: UInt16) {
        append(headerOf: .output, requestID, contentLength: 0)
        append(headerOf: .end, requestID, contentLength: 8)
        append(repeating: 0, count: 8)
    }
}

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
