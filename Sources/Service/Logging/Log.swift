package import Loop
import StrictJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
import CloakroomWire

/// One JSON object per line. A line that cannot be written is dropped and counted: no request waits for a log.
@LoopActor
package final class Log {
    package enum Value: Sendable {
        case text(String)
        case integer(Int)
        case milliseconds(Duration)
    }

    /// Built only when the line is written.
    package typealias Fields = KeyValuePairs<StaticString, Value?>

    private let sink: LineSink?
    private let level: Settings.Log.Level
    private var clock: ClockText

    /// - Parameter sink: `nil` drops every line.
    package init(sink: LineSink?, level: Settings.Log.Level, now: @escaping @Sendable () -> Date = { Date() }) {
        self.sink = sink
        self.level = level
        clock = ClockText(now: now)
    }

    package func info(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
        write(.info, message, fields())
    }

    package func warning(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
        write(.warning, message, fields())
    }

    package func error(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
        write(.error, message, fields())
    }

    package func write(
        _ level: Settings.Log.Level, _ message: StaticString, _ fields: @autoclosure () -> Fields
    ) {
        guard level >= self.level, let sink else { return }
        sink.append(Self.line(clock.text, level, message, fields()))
    }

    /// A line without its line feed. Everything from outside is a JSON string, so nothing in it can end the line.
    static func line(_ time: String, _ level: Settings.Log.Level, _ message: StaticString, _ fields: Fields) -> [UInt8]
    {
        var writer = JSONWriter(capacity: 256)
        writer.beginObject()
        writer.plainName("time")
        writer.string(time)
        writer.plainName("level")
        writer.string(level.rawValue)
        writer.plainName("message")
        writer.plainString(message)
        for (name, value) in fields {
            guard let value else { continue }
            writer.plainName(name)
            switch value {
            case .text(let text): writer.string(text.printable)
            case .integer(let number): writer.integer(number)
            case .milliseconds(let duration): writer.integer(Int(duration.nanoseconds / 1_000_000))
            }
        }
        writer.endObject()
        return writer.bytes
    }
}

extension Settings.Log.Level: Comparable {
    package static func < (left: Self, right: Self) -> Bool { left.severity < right.severity }

    private var severity: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        }
    }
}

extension String {
    /// Bounded, and without what moves a terminal's cursor: control characters beyond ASCII are left out here, those
    /// of ASCII are escaped by JSON, except for DEL.
    fileprivate var printable: String {
        if utf8.count <= 256, utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return self }
        let scalars = unicodeScalars.prefix(256).filter {
            $0.value != 0x7F && !(0x80...0x9F).contains($0.value) && !(0x2028...0x202E).contains($0.value)
                && !(0x2066...0x2069).contains($0.value)
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
