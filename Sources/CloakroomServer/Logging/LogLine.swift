import CloakroomHTTP
import CloakroomJSON
import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A line of the log in the making. Everything from outside is a JSON string, so nothing in it can end the line.
struct LogLine {
    private var writer = JSONWriter(capacity: 512)

    /// The line as far as it is written.
    var bytes: [UInt8] { writer.bytes }

    /// - Parameter start: see ``LineStart``.
    mutating func begin(_ start: [UInt8], _ level: Settings.Log.Level, _ message: StaticString) {
        writer.startAgain()
        writer.resume(start[...])
        writer.members(level.member)
        writer.plainName("message")
        writer.plainString(message)
    }

    mutating func text(_ name: StaticString, _ text: String) {
        if text.utf8.count > String.printableLength || !writer.plainMember(name, text) {
            writer.member(name, text.printable)
        }
    }

    /// One that is there is true.
    mutating func flag(_ name: StaticString) {
        writer.plainName(name)
        writer.bool(true)
    }

    mutating func integer(_ name: StaticString, _ number: Int) { writer.member(name, number) }

    mutating func id(_ name: StaticString, _ id: RequestID) {
        writer.plainName(name)
        writer.plainString(count: 16) { $0.append(hexadecimal: id.value) }
    }

    mutating func trace(_ name: StaticString, _ trace: TraceContext) {
        writer.plainName(name)
        writer.plainString(count: 32) {
            $0.append(hexadecimal: trace.high)
            $0.append(hexadecimal: trace.low)
        }
    }

    mutating func end() { writer.endObject() }
}

extension Settings.Log.Level {
    fileprivate var member: StaticString {
        switch self {
        case .debug: #""level":"debug""#
        case .info: #""level":"info""#
        case .warning: #""level":"warning""#
        case .error: #""level":"error""#
        }
    }
}

extension String {
    fileprivate static let printableLength = 256

    /// Bounded, and without what moves a terminal's cursor: control characters beyond ASCII are left out here, those
    /// of ASCII are escaped by JSON, except for DEL.
    fileprivate var printable: String {
        let scalars = unicodeScalars.prefix(Self.printableLength).filter {
            $0.value != 0x7F && !(0x80...0x9F).contains($0.value) && !(0x2028...0x202E).contains($0.value)
                && !(0x2066...0x2069).contains($0.value)
        }
        return String(String.UnicodeScalarView(scalars))
    }
}

/// What every line begins with, written anew once a second: an open object with the time.
struct LineStart {
    private let now: @Sendable () -> Date
    private var second = -Double.infinity
    private var cached: [UInt8] = []

    init(now: @escaping @Sendable () -> Date) { self.now = now }

    var text: [UInt8] {
        mutating get {
            let time = now()
            let second = time.timeIntervalSince1970.rounded(.down)
            if second != self.second {
                self.second = second
                cached = Self.text(at: time)
            }
            return cached
        }
    }

    static func text(at time: Date) -> [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.beginObject()
        writer.member("time", time)
        return writer.bytes
    }
}
