package import CloakroomLoop

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

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
    private var start: LineStart
    private var line = LogLine()
    private let now: @Sendable () -> Date
    /// Of all levels, whichever are written.
    private(set) var failures = RecentFailures()

    /// - Parameter sink: `nil` drops every line.
    package init(sink: LineSink?, level: Settings.Log.Level, now: @escaping @Sendable () -> Date = { Date() }) {
        self.sink = sink
        self.level = level
        self.now = now
        start = LineStart(now: now)
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
        if level >= .warning { failures.note(level, message, reason: nil, at: now()) }
        guard level >= self.level, sink != nil else { return }
        let fields = fields()
        put(level, message) { $0.add(fields) }
    }

    /// The same without a list of the fields, for the line that every request has.
    ///
    /// - Parameters:
    ///   - reason: of a failure, from a closed set.
    ///   - fields: writes them; called only when the line is written.
    func write(
        _ level: Settings.Log.Level, _ message: StaticString, reason: String? = nil, _ fields: (inout LogLine) -> Void
    ) {
        if level >= .warning { failures.note(level, message, reason: reason, at: now()) }
        put(level, message, fields)
    }

    private func put(_ level: Settings.Log.Level, _ message: StaticString, _ fields: (inout LogLine) -> Void) {
        guard level >= self.level, let sink else { return }
        line.begin(start.text, level, message)
        fields(&line)
        line.end()
        sink.append(line.bytes)
    }
}

extension LogLine {
    mutating func add(_ fields: Log.Fields) {
        for (name, value) in fields {
            switch value {
            case .text(let text): self.text(name, text)
            case .integer(let number): integer(name, number)
            case .milliseconds(let duration): integer(name, Int(duration.nanoseconds / 1_000_000))
            case nil: break
            }
        }
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
