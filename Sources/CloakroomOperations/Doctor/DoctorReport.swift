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
        let head = [(finding.check.rawValue, checkWidth), (finding.level.rawValue, levelWidth)]
            .map { $0.padding(to: $1 - 1) + " " }.joined()
        let margin = String(repeating: " ", count: checkWidth + levelWidth)
        var lines = wrapped(finding.found, after: head)
        if let why = finding.why { lines += wrapped(why, after: margin + "  why: ") }
        if let advice = finding.advice { lines += wrapped(advice, after: margin + "  do:  ") }
        // A command stays on its line, to be copied.
        if let next { lines.append(margin + "  next: " + next.filter { !$0.isNewline }) }
        return lines
    }

    /// What came from elsewhere has no say over the terminal: control characters become spaces.
    private static func wrapped(_ text: String, after label: String) -> [String] {
        let plain = text.map { $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0 }
        return String(plain).wrapped(columns: textWidth + label.count, after: label)
    }
}
