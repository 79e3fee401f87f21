import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension URLRequest {
    /// Everything but the body.
    ///
    /// - Throws: ``HTTPTransportError/invalidRequest`` for what cannot be said in HTTP, or would say something else.
    init(_ request: HTTPRequest) throws(HTTPTransportError) {
        guard let scheme = request.url.scheme?.lowercased(), scheme == "https" || scheme == "http",
            request.url.host?.isEmpty == false, request.url.user == nil, request.url.password == nil,
            !request.url.hasDotSegment, request.method.isToken, request.method != "GET" || request.body.byteCount == 0
        else { throw .invalidRequest }
        self.init(url: request.url)
        httpMethod = request.method
        cachePolicy = .reloadIgnoringLocalCacheData
        httpShouldHandleCookies = false
        // Time is kept by the exchange itself; this is behind it. On Linux fractions of a second are cut off.
        timeoutInterval = min(86_400, (request.timeout + request.idleTimeout) / .seconds(1) + 60).rounded(.up)
        // Checksums are of the bytes as they are stored.
        setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        var seen: Set<String> = []
        for (name, value) in request.fields {
            guard name.isToken, value.isFieldValue else { throw .invalidRequest }
            let lowercased = name.lowercased()
            // URLSession adds these itself.
            if lowercased == "host" || lowercased == "content-length" { continue }
            if seen.insert(lowercased).inserted {
                setValue(value, forHTTPHeaderField: name)
            } else {
                // Signature Version 4 signs the values of one name joined by a bare comma.
                setValue((self.value(forHTTPHeaderField: name) ?? "") + "," + value, forHTTPHeaderField: name)
            }
        }
    }
}

extension URL {
    /// Whether a segment of the path is `.` or `..`: URLSession would take it away, and what was signed would not be what is sent.
    fileprivate var hasDotSegment: Bool {
        path(percentEncoded: true).split(separator: "/").contains { segment in
            let plain = segment.lowercased().replacingOccurrences(of: "%2e", with: ".")
            return plain == "." || plain == ".."
        }
    }
}

extension String {
    /// RFC 9110 §5.6.2.
    fileprivate var isToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// RFC 9110 §5.5: no control characters but the tab.
    fileprivate var isFieldValue: Bool { utf8.allSatisfy { $0 == 9 || $0 >= 32 && $0 != 127 } }
}
