import CloakroomHTTP
import Glibc

/// The parameters of a query or of a form, percent-decoded once.
struct QueryParameters {
    /// More than any route reads: each name is compared with those before it.
    static let maximumCount = 64
    private var pairs: [(name: String, value: String)] = []

    /// - Parameter query: in which a plus sign is one, as in RFC 3986.
    /// - Returns: `nil` for a broken escape, for bytes that are not UTF-8, for a name that comes twice, and for more
    ///   parameters than ``maximumCount``.
    init?(_ query: String) { self.init(query.utf8.span, isForm: false) }

    /// - Parameter form: `application/x-www-form-urlencoded`, in which a plus sign is a blank (WHATWG URL Standard §5).
    init?(form: String) { self.init(form.utf8.span, isForm: true) }

    init?(form: [UInt8]) { self.init(form.span, isForm: true) }

    private init?(_ bytes: Span<UInt8>, isForm: Bool) {
        guard bytes.count > 0 else { return }
        // Those of a session that is named, or of an upload.
        pairs.reserveCapacity(8)
        var position = 0
        while position < bytes.count {
            guard bytes[position] != UInt8(ascii: "&") else {
                position += 1
                continue
            }
            guard pairs.count < Self.maximumCount,
                let name = Self.text(in: bytes, &position, endsAtEqualsSign: true, isForm)
            else { return nil }
            if position < bytes.count, bytes[position] == UInt8(ascii: "=") { position += 1 }
            guard let value = Self.text(in: bytes, &position, endsAtEqualsSign: false, isForm),
                !pairs.contains(where: { $0.name == name })
            else { return nil }
            pairs.append((name, value))
        }
    }

    subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    var names: Set<String> { Set(pairs.lazy.map(\.name)) }

    /// One after the other, as they were sent.
    func forEach<Failure: Error>(_ body: (_ name: String, _ value: String) throws(Failure) -> Void) throws(Failure) {
        for pair in pairs { try body(pair.name, pair.value) }
    }

    /// - Returns: `nil` for anything but decimal digits: no sign, no space, no zero before others.
    static func integer(_ text: some StringProtocol) -> Int? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            text.utf8.first != UInt8(ascii: "0") || text.utf8.count == 1
        else { return nil }
        return Int(text)
    }

    /// A name or a value, up to the sign that ends it.
    private static func text(
        in bytes: Span<UInt8>, _ position: inout Int, endsAtEqualsSign isName: Bool, _ isForm: Bool
    ) -> String? {
        var text = bytes.extracting(position..<bytes.count)
        text = text.extracting(..<(firstIndex(of: UInt8(ascii: "&"), in: text) ?? text.count))
        if isName { text = text.extracting(..<(firstIndex(of: UInt8(ascii: "="), in: text) ?? text.count)) }
        position += text.count
        let isPlain = !text.holds(UInt8(ascii: "%")) && !(isForm && text.holds(UInt8(ascii: "+")))
        return isPlain ? string(text) : decoded(text, isForm)
    }

    /// By the C library, many bytes at a time: a token has hundreds.
    private static func firstIndex(of byte: UInt8, in text: Span<UInt8>) -> Int? {
        unsafe text.withUnsafeBufferPointer { text in
            guard let start = unsafe UnsafeRawPointer(text.baseAddress),
                let found = unsafe memchr(start, Int32(byte), text.count)
            else { return nil }
            return unsafe UnsafeRawPointer(found) - start
        }
    }

    private static func decoded(_ text: Span<UInt8>, _ isForm: Bool) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            let byte = text[position]
            position += 1
            switch byte {
            case UInt8(ascii: "%"):
                guard position + 2 <= text.count,
                    let decoded = [UInt8](hexadecimal: [text[position], text[position + 1]])
                else { return nil }
                bytes += decoded
                position += 2
            case UInt8(ascii: "+") where isForm: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return string(bytes.span)
    }

    private static func string(_ bytes: Span<UInt8>) -> String? {
        do { return String(copying: try UTF8Span(validating: bytes)) } catch { return nil }
    }
}
