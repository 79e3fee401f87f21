import CloakroomJSON

/// All findings, as a table for people or as JSON for programs.
package struct DoctorReport: Sendable {
    package var findings: [Finding]

    /// `nil`: none are named.
    private let commands: NextCommands?

    package init(_ findings: [Finding] = [], commands: NextCommands? = nil) {
        self.findings = findings
        self.commands = commands
    }

    package func count(_ level: Finding.Level) -> Int { findings.count { $0.level == level } }

    /// Whether nothing has to be done; warnings count only when they are to.
    package func isFine(strict: Bool) -> Bool { count(.error) == 0 && (!strict || count(.warning) == 0) }

    /// A line each, and below it, where something is wrong, why that matters and what to do.
    package var table: String {
        let lines = findings.flatMap { Self.lines($0, next: next($0)) }
        let counts = Finding.Level.allCases.reversed().compactMap { level in
            count(level) > 0 ? "\(count(level)) \(level.rawValue)" : nil
        }
        return (lines + ["", counts.isEmpty ? "nothing was checked" : counts.joined(separator: ", ")])
            .joined(separator: "\n")
    }

    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("findings")
        writer.beginArray()
        for finding in findings {
            writer.beginObject()
            for (name, text) in [
                ("check", finding.check.rawValue), ("level", finding.level.rawValue), ("found", finding.found),
                ("why", finding.why), ("advice", finding.advice), ("next", next(finding)),
            ] {
                guard let text else { continue }
                writer.name(name)
                writer.string(text)
            }
            writer.endObject()
        }
        writer.endArray()
        for level in Finding.Level.allCases {
            writer.name(level.rawValue)
            writer.integer(count(level))
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static let checkWidth = 10
    private static let levelWidth = 8
    private static let textWidth = 100

    private func next(_ finding: Finding) -> String? { commands?.next(finding) }

    private static func lines(_ finding: Finding, next: String?) -> [String] {
        let head = padded(finding.check.rawValue, checkWidth) + padded(finding.level.rawValue, levelWidth)
        let margin = String(repeating: " ", count: checkWidth + levelWidth)
        var lines = wrapped(finding.found, first: head, rest: margin)
        if let why = finding.why { lines += wrapped(why, first: margin + "  why: ", rest: margin + "       ") }
        if let advice = finding.advice { lines += wrapped(advice, first: margin + "  do:  ", rest: margin + "       ") }
        // A command stays on its line, to be copied.
        if let next { lines.append(margin + "  next: " + next.filter { !$0.isNewline }) }
        return lines
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    /// What came from elsewhere has no say over the terminal: control characters become spaces.
    private static func wrapped(_ text: String, first: String, rest: String) -> [String] {
        let words = text.split { $0 == " " || $0.unicodeScalars.contains { $0.properties.generalCategory == .control } }
        var lines = [first]
        var width = 0
        for word in words {
            if width > 0, width + 1 + word.count > textWidth {
                lines.append(rest)
                width = 0
            }
            lines[lines.count - 1] += (width > 0 ? " " : "") + word
            width += (width > 0 ? 1 : 0) + word.count
        }
        return lines
    }
}
