/// How long something takes, or took, for people.
package enum TimeSpan {
    /// `2 d 5 h`, `5 min`, `40 s`: the two largest units.
    package static func text(_ seconds: Double) -> String {
        let total = Int(max(0, min(seconds, 1e12)).rounded(.up))
        let parts = [(total / 86_400, "d"), (total / 3600 % 24, "h"), (total / 60 % 60, "min"), (total % 60, "s")]
        let shown = parts.drop { $0.0 == 0 }.prefix(2).filter { $0.0 > 0 }
        return shown.isEmpty ? "0 s" : shown.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}
