import Foundation

extension HTTPRequest {
    /// The fields as they go out: without the transport's own, `Host` and `Content-Length`, and those of one name joined by a
    /// bare comma, as Signature Version 4 signs them.
    ///
    /// - Throws: ``HTTPTransportError/invalidRequest`` when the request holds what cannot be said in HTTP, or would say
    ///   something else.
    package func fieldsToSend() throws(HTTPTransportError) -> [(name: String, value: String)] {
        guard let scheme = url.scheme?.lowercased(), scheme == "https" || scheme == "http",
            url.host?.isEmpty == false, url.user == nil, url.password == nil, !url.hasDotSegment, method.isToken,
            body.byteCount == 0 || method != "GET" && method != "HEAD"
        else { throw .invalidRequest }
        var sent: [(name: String, value: String)] = []
        var indices: [String: Int] = [:]
        for (name, value) in fields {
            guard name.isToken, value.isFieldValue else { throw .invalidRequest }
            let lowercased = name.lowercased()
            if lowercased == "host" || lowercased == "content-length" { continue }
            if let index = indices[lowercased] {
                sent[index].value += "," + value
            } else {
                indices[lowercased] = sent.count
                sent.append((name, value))
            }
        }
        return sent
    }
}

extension URL {
    /// Whether a segment of the path is `.` or `..`: URLSession would remove it, and the request would not be the signed one.
    fileprivate var hasDotSegment: Bool {
        path(percentEncoded: true).split(separator: "/").contains { segment in
            guard segment.utf8.count <= 6 else { return false }
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
