import CFastCGI
import CLinux
import HTTPValues

/// The header fields that the service reads; the rest of what nginx sends is never copied.
package struct FieldTable: Sendable {
    private struct Wanted {
        let variable: [UInt8]
        let name: String
    }

    private let wanted: [Wanted]

    /// - Parameter names: as in HTTP, in any case: `Authorization`.
    package init(_ names: [String]) {
        wanted = names.map { name in
            let upper = name.uppercased().replacing("-", with: "_")
            // CGI gives these two without the prefix (RFC 3875 §4.1).
            let variable = upper == "CONTENT_TYPE" || upper == "CONTENT_LENGTH" ? upper : "HTTP_" + upper
            return Wanted(variable: Array((variable + "=").utf8), name: name)
        }
    }

    /// - Parameter environment: `NAME=value` strings, ended by a null pointer; they are copied.
    /// - Returns: `nil` without a method or a target.
    func request(from environment: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, body: [UInt8]) -> Request? {
        var method: String?
        var target: String?
        var id: RequestID?
        var peer: String?
        var fields = HeaderFields()
        guard var next = unsafe environment else { return nil }
        while let entry = unsafe next.pointee {
            let bytes = unsafe UnsafeBufferPointer(
                start: UnsafeRawPointer(entry).assumingMemoryBound(to: UInt8.self), count: strlen(entry))
            if let value = unsafe Self.value(in: bytes, after: Self.requestMethod) {
                method = unsafe String(decoding: value, as: UTF8.self)
            } else if let value = unsafe Self.value(in: bytes, after: Self.requestURI) {
                target = unsafe String(decoding: value, as: UTF8.self)
            } else if let value = unsafe Self.value(in: bytes, after: Self.remoteAddress) {
                peer = unsafe String(decoding: value, as: UTF8.self)
            } else if let digits = unsafe Self.value(in: bytes, after: Self.requestID) {
                id = unsafe RequestID(hexadecimal: digits)
            } else {
                for field in wanted {
                    guard let value = unsafe Self.value(in: bytes, after: field.variable) else { continue }
                    unsafe fields.add(field.name, value.span)
                    break
                }
            }
            unsafe next += 1
        }
        guard let method, let target, !method.isEmpty, !target.isEmpty else { return nil }
        var request = Request(method: method, target: target, fields: fields, body: body)
        request.id = id
        request.peerAddress = peer
        return request
    }

    private static let requestMethod = Array("REQUEST_METHOD=".utf8)
    private static let requestURI = Array("REQUEST_URI=".utf8)
    private static let remoteAddress = Array("REMOTE_ADDR=".utf8)
    private static let requestID = Array("REQUEST_ID=".utf8)

    private static func value(in entry: UnsafeBufferPointer<UInt8>, after name: [UInt8]) -> UnsafeBufferPointer<UInt8>?
    {
        // Names mostly differ in length: one look at where the equals sign would be spares the call.
        guard entry.count >= name.count, unsafe entry[name.count - 1] == UInt8(ascii: "="),
            unsafe memcmp(entry.baseAddress!, name, name.count) == 0
        else { return nil }
        return unsafe UnsafeBufferPointer(rebasing: entry[name.count...])
    }
}
