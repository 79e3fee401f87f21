/// Lengths of time as people write them: `10s`, `5m`, `2h`, `3d`.
enum DurationArgument {
    private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    static func duration(_ text: String) -> Duration? {
        guard let unit = text.last.flatMap({ units[$0] }), let count = UInt32(text.dropLast()) else { return nil }
        return .seconds(Int(count) * unit)
    }
}
