import HTTPValues

/// Records that are written without libfcgi, because no request of theirs ever reached it.
enum Answers {
    /// Answers a request that the gate did not let in; the connection is closed after it.
    static func refusal(requestID: UInt16, _ response: Response) -> [UInt8] {
        let text = response.head + response.body
        return record(.output, requestID, text) + record(.output, requestID, [])
            + record(.end, requestID, [UInt8](repeating: 0, count: 8))
    }

    /// The answer to GET_VALUES (§4.1): one loop multiplexes connections, not the requests of one.
    static func values(connections: Int) -> [UInt8] {
        let pairs = [
            ("FCGI_MAX_CONNS", String(connections)), ("FCGI_MAX_REQS", String(connections)), ("FCGI_MPXS_CONNS", "0"),
        ]
        let content = pairs.flatMap { name, value in
            [UInt8(name.utf8.count), UInt8(value.utf8.count)] + name.utf8 + value.utf8
        }
        return record(.getValuesResult, 0, content)
    }

    private static func record(_ kind: Record.Kind, _ requestID: UInt16, _ content: [UInt8]) -> [UInt8] {
        [
            1, kind.rawValue, UInt8(requestID >> 8), UInt8(requestID & 0xFF), UInt8(content.count >> 8),
            UInt8(content.count & 0xFF), 0, 0,
        ] + content
    }
}
