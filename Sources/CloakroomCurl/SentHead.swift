import CloakroomCCurl
import CloakroomHTTP
import CloakroomLibcurl
import CloakroomLoop
import Glibc

/// How a request's head is given to libcurl.
enum HeadForm: CaseIterable {
    /// As one text: see ``RequestHead``.
    case text
    /// As a target and a list of fields, which takes more time.
    case lines
}

/// Whether this libcurl sends what was signed, seen once in each process: a request goes over a socket of
/// its own, without a network, and is compared with what was to be sent.
@LoopActor
enum SentHead {
    /// The first that arrives as it is; ``HeadForm/lines`` when none does, so that the server refuses signatures at worst.
    static let form: HeadForm = form(of: HeadForm.allCases)

    static func form(of forms: [HeadForm], sending: (HeadForm) -> [UInt8]? = { sent($0) }) -> HeadForm {
        forms.first { form in sending(form).map(isWhatWasSigned) ?? true } ?? .lines
    }

    /// What a change of libcurl's might touch: a path with dots, slashes and escapes, a query, a port, fields in an order.
    private static let request = UpstreamRequest(
        method: "PUT", origin: "http://192.0.2.1", target: "/a/../b//%7Ec%2Fd?x-id=%2B&list&y=",
        fields: [
            "host": "bucket.example:8443", "x-amz-date": "20261128T000000Z", "authorization": "AWS4-HMAC-SHA256 a=b, c",
        ],
        body: Array("body".utf8))

    private static let longest: Duration = .milliseconds(500)

    /// - Returns: what came out; `nil` when nothing did, which says nothing about libcurl.
    static func sent(_ form: HeadForm) -> [UInt8]? {
        var name = [CChar](repeating: 0, count: 6)
        let listener = unsafe cloakroom_abstract_listener(&name)
        guard listener >= 0 else { return nil }
        defer { close(listener) }
        let fields = SuppressedHeaderFields()
        let sockets = CurlSockets()
        let transfer = unsafe CurlTransfer(
            options: LoopCurlTransport.Options(), form: form, suppressedFields: fields,
            sockets: Unmanaged.passUnretained(sockets).toOpaque(), shared: CurlShare())
        defer { transfer.free() }
        unsafe cloakroom_detach_sockets(transfer.easy.pointer)
        unsafe transfer.easy.check(
            cloakroom_set_text(transfer.easy.pointer, CURLOPT_ABSTRACT_UNIX_SOCKET, name))
        guard transfer.prepare(request, timeout: longest), let multi = unsafe curl_multi_init() else { return nil }
        defer { unsafe curl_multi_cleanup(multi) }
        unsafe curl_multi_add_handle(multi, transfer.easy.pointer)
        defer { unsafe curl_multi_remove_handle(multi, transfer.easy.pointer) }
        return unsafe received(multi, listener)
    }

    /// Plays the server of one request.
    private static func received(_ multi: UnsafeMutableRawPointer, _ listener: Int32) -> [UInt8]? {
        var connection: Int32 = -1
        defer { if connection >= 0 { close(connection) } }
        var bytes: [UInt8] = []
        var running: Int32 = 1
        let deadline = ContinuousClock.now + longest
        while ContinuousClock.now < deadline {
            unsafe curl_multi_perform(multi, &running)
            if connection < 0 { connection = cloakroom_accept_one(listener) }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = unsafe recv(connection, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { bytes += buffer[..<count] }
            if bytes.count >= request.body.count, bytes.suffix(request.body.count) == request.body[...] { return bytes }
            guard running > 0 else { break }
            unsafe curl_multi_poll(multi, nil, 0, 1, nil)
        }
        return bytes.isEmpty ? nil : bytes
    }

    static func isWhatWasSigned(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return false }
        var lines = text[..<end.lowerBound].split(separator: "\r\n", omittingEmptySubsequences: false)
        guard lines.removeFirst() == "\(request.method) \(request.target) HTTP/1.1",
            text[end.upperBound...] == String(decoding: request.body, as: UTF8.self)
        else { return false }
        var fields: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2,
                fields.updateValue(String(parts[1].drop { $0 == " " }), forKey: parts[0].lowercased()) == nil
            else { return false }
        }
        // Not signed.
        fields["user-agent"] = nil
        guard fields.removeValue(forKey: "content-length") == String(request.body.count) else { return false }
        return fields == Dictionary(request.fields.map { ($0.name, $0.value) }) { $1 }
    }
}
