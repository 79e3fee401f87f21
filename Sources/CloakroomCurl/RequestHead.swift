import CloakroomCCurl
import CloakroomHTTP

/// A request's head from the target on, as one text for `CURLOPT_REQUEST_TARGET`.
///
/// libcurl copies a target as it is. The fields of a list it prints byte by byte, some eighty instructions each, and the list
/// it looks through for every field that it might add: that was half of what a request cost. So the fields stand behind
/// the target, and the list only names what libcurl is not to add (``SuppressedHeaderFields``).
///
/// What libcurl puts behind a target, ` HTTP/1.1` and the end of the line, here ends the last field, `user-agent`.
/// Source: CURLOPT_REQUEST_TARGET(3), by which libcurl sends "the verbatim string … without any filter or other safe guards.
/// That includes white space and control characters"; so ours are here. It must be HTTP/1.1, which is all that S3 speaks.
@safe struct RequestHead {
    private static let version: StaticString = " HTTP/1.1\r\n"
    private static let length: StaticString = "content-length: "
    private static let agent: StaticString = "user-agent: cloakroom\0"
    /// For all that is neither target nor field: a number has twenty digits at most.
    private static let room = 80

    private var next: UnsafeMutablePointer<CChar>

    /// - Parameters:
    ///   - target: empty means `/`.
    ///   - byteCount: of the body; `nil` for a request that says nothing of one.
    /// - Returns: ending in a NUL; `nil` when a line break or a NUL would make two fields of one.
    static func text(_ target: String, _ fields: HeaderFields, byteCount: Int?) -> [CChar]? {
        let target = target.isEmpty ? "/" : target
        guard isSendable(target, fields) else { return nil }
        // A line's end is one byte in the fields and two in the head.
        let capacity = target.utf8.count + fields.text.count + fields.count + room
        return unsafe [CChar](unsafeUninitializedCapacity: capacity) { space, count in
            guard let start = space.baseAddress else { return }
            var head = unsafe RequestHead(next: start)
            head.add(target)
            head.add(version)
            head.add(fields)
            if let byteCount {
                head.add(length)
                head.add(byteCount.description)
                head.endLine()
            }
            head.add(agent)
            count = unsafe head.next - start
        }
    }

    private mutating func add(_ text: StaticString) { unsafe add(text.utf8Start, text.utf8CodeUnitCount) }

    private mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { text in
            if let start = text.baseAddress { unsafe add(start, text.count) }
        }
    }

    private mutating func add(_ fields: HeaderFields) {
        unsafe fields.text.withUnsafeBufferPointer { text in
            guard let start = text.baseAddress else { return }
            for location in fields.locations {
                unsafe add(start + location.line.lowerBound, location.line.count)
                endLine()
            }
        }
    }

    private mutating func add(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        unsafe memcpy(next, bytes, count)
        unsafe next += count
    }

    private mutating func endLine() {
        unsafe next[0] = CChar(UInt8(ascii: "\r"))
        unsafe next[1] = CChar(UInt8(ascii: "\n"))
        unsafe next += 2
    }

    static func isSendable(_ target: String, _ fields: HeaderFields) -> Bool {
        isTarget(target) && areSendable(fields)
    }

    private static func isTarget(_ target: String) -> Bool {
        target.utf8.first == UInt8(ascii: "/") && target.isVisible
    }

    /// Whether no field has more than the one NUL behind it, and none another control character than a tab.
    private static func areSendable(_ fields: HeaderFields) -> Bool {
        let text = fields.text[...]
        guard !hasControls(text.span) else { return false }
        return unsafe text.withUnsafeBytes { text in
            guard let start = unsafe text.baseAddress?.assumingMemoryBound(to: CChar.self) else { return true }
            for location in fields.locations {
                guard unsafe strlen(start + location.line.lowerBound) == location.line.count else { return false }
            }
            return true
        }
    }

    /// Beside tabs and NULs; without an early end, so that the compiler looks at many bytes at once.
    private static func hasControls(_ text: Span<UInt8>) -> Bool {
        var found: UInt8 = 0
        for index in text.indices {
            let byte = text[index]
            found |= (byte < 0x20 ? 1 : 0) & (byte == 0x09 ? 0 : 1) & (byte == 0 ? 0 : 1)
        }
        return found != 0
    }
}

extension String {
    /// Without spaces and control characters, with which libcurl, or a server, would do as it likes; again without an early
    /// end.
    var isVisible: Bool {
        withUTF8Span { text in
            var found: UInt8 = 0
            for index in text.indices { found |= (text[index] <= 0x20 ? 1 : 0) | (text[index] == 0x7F ? 1 : 0) }
            return found == 0
        }
    }
}
