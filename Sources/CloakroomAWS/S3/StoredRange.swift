import CloakroomHTTP

/// Which bytes of an object are requested.
package struct ObjectRange: Sendable, Equatable {
    package let first: Int64
    /// `nil` for all from ``first`` on.
    package let last: Int64?

    package init(first: Int64, last: Int64? = nil) {
        self.first = first
        self.last = last
    }

    /// RFC 9110 §14.1.2.
    var field: String { "bytes=\(first)-\(last.map { String($0) } ?? "")" }
}

/// Bytes of an object, and what it is.
package struct StoredRange: Sendable, Equatable {
    package let object: StoredObject
    package let first: Int64
    /// Of the whole object.
    package let objectSize: Int64
    /// Empty when they went elsewhere.
    package let body: [UInt8]

    /// - Returns: `nil` when the response has other bytes than were requested, or does not say which.
    init?(_ object: StoredObject, _ response: UpstreamResponse, asked: ObjectRange?) {
        self.object = object
        body = response.body
        guard response.status == 206 else {
            // All of it, whatever was requested.
            guard (asked?.first ?? 0) == 0, let size = object.byteCount else { return nil }
            first = 0
            objectSize = Int64(size)
            return
        }
        // RFC 9110 §14.4: `bytes 0-499/1234`.
        guard let asked, let text = response.fields["content-range"], text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(whereSeparator: { $0 == "-" || $0 == "/" })
            .map { StoredNumber.byteCount(String($0)).map { Int64($0) } }
        guard parts.count == 3, let first = parts[0], let last = parts[1], let size = parts[2], first == asked.first,
            last >= first, last < size, last == min(asked.last ?? .max, size - 1)
        else { return nil }
        self.first = first
        objectSize = size
    }
}
