import CloakroomCFastCGI
import CloakroomCLinux
import CloakroomHTTP

/// The parameters that are read of a request: what makes its line, and the header fields that the service wants. The
/// rest of what nginx sends is never copied.
package struct FieldTable: Sendable {
    private enum Meaning { case method, target, peer, id, trace, network, field }

    private struct Wanted {
        let meaning: Meaning
        /// With the `=` behind it, in ``text``.
        let variable: Range<Int>
        /// As in HTTP, in ``text``.
        let name: Range<Int>
    }

    private var wanted: [Wanted] = []
    private var text: [UInt8] = []

    /// - Parameter names: as in HTTP, in any case: `Authorization`.
    package init(_ names: [String]) {
        want("REQUEST_METHOD", .method)
        want("REQUEST_URI", .target)
        want("REQUEST_ID", .id)
        want("REMOTE_ADDR", .peer)
        for name in names {
            let upper = name.uppercased().replacing("-", with: "_")
            // CGI gives these two without the prefix (RFC 3875 §4.1).
            let isPlain = upper == "CONTENT_TYPE" || upper == "CONTENT_LENGTH"
            want(isPlain ? upper : "HTTP_" + upper, .field, name)
        }
        // Last, for most requests have neither.
        want("HTTP_TRACEPARENT", .trace)
        want("LOCAL_NETWORK", .network)
    }

    private mutating func want(_ variable: String, _ meaning: Meaning, _ name: String = "") {
        let start = text.count
        text += "\(variable)=\(name)".utf8
        let middle = start + variable.utf8.count + 1
        wanted.append(Wanted(meaning: meaning, variable: start..<middle, name: middle..<text.count))
    }

    /// - Parameter environment: `NAME=value` strings, ended by a null pointer; they are copied.
    /// - Returns: `nil` without a method or a target.
    func request(from environment: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, body: [UInt8]) -> Request? {
        guard var next = unsafe environment else { return nil }
        var request = Request(method: "", path: "", body: body)
        request.fields.reserve(fields: wanted.count, bytes: Self.usualBytes)
        var hasTarget = false
        while let entry = unsafe next.pointee {
            unsafe next += 1
            let start = unsafe UnsafeRawPointer(entry).assumingMemoryBound(to: UInt8.self)
            let parameter = unsafe UnsafeBufferPointer(start: start, count: strlen(entry)).span
            guard let wanted = wanted(parameter) else { continue }
            let value = parameter.extracting(droppingFirst: wanted.variable.count)
            switch wanted.meaning {
            case .method: request.method = String(copying: value)
            case .target:
                request.setTarget(value)
                hasTarget = !value.isEmpty
            case .peer: request.peerAddress = String(copying: value)
            case .id: request.id = RequestID(hexadecimal: value)
            // No client can send it: header fields become HTTP_<NAME>.
            case .network: request.isFromLocalNetwork = value.count == 1 && value[0] == UInt8(ascii: "1")
            case .trace: request.trace = TraceContext(value)
            case .field: request.fields.add(text.span.extracting(wanted.name), value)
            }
        }
        guard hasTarget, !request.method.isEmpty else { return nil }
        return request
    }

    /// Room for a token and what else is wanted of most requests; more may come.
    private static let usualBytes = 960

    /// What a parameter is to us; `nil` for most.
    private func wanted(_ parameter: Span<UInt8>) -> Wanted? {
        for wanted in wanted {
            let count = wanted.variable.count
            // Names mostly differ in length: one look at where the equals sign would be spares the call.
            guard parameter.count >= count, parameter[count - 1] == UInt8(ascii: "=") else { continue }
            let isSame = unsafe parameter.withUnsafeBytes { parameter in
                unsafe text.span.extracting(wanted.variable).withUnsafeBytes { variable in
                    unsafe memcmp(parameter.baseAddress!, variable.baseAddress!, count) == 0
                }
            }
            if isSame { return wanted }
        }
        return nil
    }
}
