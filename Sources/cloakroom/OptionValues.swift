/// What commands read alike from their options and operands.
extension Options {
    /// - Parameter usage: `nil` for a command that takes nothing else.
    /// - Returns: the only operand.
    func settingsFile(usage: String? = nil) throws(EarlyExit) -> String {
        guard operands.count == 1 else { throw .usage(usage ?? "\(command) takes one settings file") }
        return operands[0]
    }

    func settingsFileAndUser() throws(EarlyExit) -> (file: String, user: String) {
        let usage = "\(command) takes --user and one settings file"
        guard let user = values["user"] else { throw .usage(usage) }
        return (try settingsFile(usage: usage), user)
    }

    /// - Parameter unit: said to the operator.
    func number(
        _ name: String, _ range: ClosedRange<Int>, default usual: Int, unit: String = ""
    ) throws(EarlyExit) -> Int {
        guard let text = values[name] else { return usual }
        guard let number = Int(text), range.contains(number) else {
            throw .usage("--\(name) takes \(range.lowerBound)…\(range.upperBound)\(unit)")
        }
        return number
    }

    /// From the beginning of one request to that of the next, as `--requests-per-second` says it.
    func requestInterval() throws(EarlyExit) -> Duration {
        .seconds(1) / (try number("requests-per-second", 1...1000, default: 10))
    }
}

/// Lengths of time as people write them: `10s`, `5m`, `2h`, `3d`.
enum DurationArgument {
    private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    static func duration(_ text: String) -> Duration? {
        guard let unit = text.last.flatMap({ units[$0] }), let count = UInt32(text.dropLast()) else { return nil }
        return .seconds(Int(count) * unit)
    }

    /// Of short times too: `500ms`, `1.5s`.
    static func seconds(_ text: String) -> Double? {
        if text.hasSuffix("ms") { return Double(text.dropLast(2)).map { $0 / 1000 } }
        guard let unit = text.last.flatMap({ units[$0] }) else { return nil }
        return Double(text.dropLast()).map { $0 * Double(unit) }
    }
}
