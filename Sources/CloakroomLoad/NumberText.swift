extension Double {
    /// With so many decimals, rounded.
    package func fixed(_ decimals: Int) -> String {
        guard isFinite, abs(self) < 1e15 else { return "\(self)" }
        var factor = 1
        for _ in 0..<decimals { factor *= 10 }
        let scaled = Int((abs(self) * Double(factor)).rounded())
        let sign = self < 0 && scaled > 0 ? "-" : ""
        guard decimals > 0 else { return sign + "\(scaled)" }
        let fraction = String(scaled % factor)
        return "\(sign)\(scaled / factor)." + String(repeating: "0", count: decimals - fraction.count) + fraction
    }

    /// As few decimals as tell it from its neighbours: `1250`, `12.5`, `0.25`.
    package var short: String {
        let decimals = abs(self) >= 100 || self == rounded() ? 0 : abs(self) >= 10 ? 1 : 2
        return fixed(decimals)
    }
}

extension UInt64 {
    /// Nanoseconds as people read them: `870 ns`, `45.2 µs`, `1.25 ms`, `3.40 s`.
    package var durationText: String {
        let value = Double(self)
        return switch self {
        case 0..<1000: "\(self) ns"
        case 1000..<999_500: "\((value / 1e3).threeDigits) µs"
        case 999_500..<999_500_000: "\((value / 1e6).threeDigits) ms"
        default: "\((value / 1e9).threeDigits) s"
        }
    }
}

extension Double {
    fileprivate var threeDigits: String { fixed(self >= 99.95 ? 0 : self >= 9.995 ? 1 : 2) }
}
