/// A plot as SVG: lines or bars between axes with a few ticks.
struct Plot {
    enum Scale {
        case linear
        /// Base 10; what is not above 0 is left out.
        case logarithmic
    }

    struct Series {
        let name: String
        let points: [(x: Double, y: Double)]
    }

    let title: String
    let x: (label: String, scale: Scale)
    let y: (label: String, scale: Scale)
    /// Drawn as lines, in the order of the style's colours.
    var lines: [Series] = []
    /// Each from one x to another, as high as it says.
    var bars: [(from: Double, to: Double, height: Double)] = []

    private static let size = (width: 720.0, height: 270.0)
    private static let frame = (left: 70.0, right: 704.0, top: 34.0, bottom: 226.0)

    /// - Returns: `nil` where there is nothing to draw.
    var svg: String? {
        let points = lines.flatMap(\.points) + bars.flatMap { [(x: $0.from, y: $0.height), (x: $0.to, y: 0)] }
        guard let horizontal = Axis(points.map(\.x), x.scale, isFromZero: false),
            let vertical = Axis(points.map(\.y), y.scale, isFromZero: true)
        else { return nil }
        let parts =
            [grid(horizontal, vertical)] + bars.map { bar($0, horizontal, vertical) }
            + lines.enumerated().map { line($1, $0, horizontal, vertical) } + [legend]
        return """
            <svg viewBox="0 0 \(Int(Self.size.width)) \(Int(Self.size.height))" role="img" aria-label="\(title.htmlText)">
            <text class="title" x="\(Int(Self.frame.left))" y="20">\(title.htmlText)</text>
            \(parts.joined(separator: "\n"))
            </svg>
            """
    }

    private func place(_ point: (x: Double, y: Double), _ horizontal: Axis, _ vertical: Axis) -> (x: Double, y: Double)?
    {
        guard let across = horizontal.share(point.x), let up = vertical.share(point.y) else { return nil }
        return (
            Self.frame.left + across * (Self.frame.right - Self.frame.left),
            Self.frame.bottom - up * (Self.frame.bottom - Self.frame.top)
        )
    }

    private func line(_ series: Series, _ index: Int, _ horizontal: Axis, _ vertical: Axis) -> String {
        let places = series.points.compactMap { place($0, horizontal, vertical) }
        let points = places.map { "\($0.x.fixed(1)),\($0.y.fixed(1))" }.joined(separator: " ")
        let dots =
            places.count > 40
            ? []
            : places.map {
                "<circle class=\"f\(index)\" cx=\"\($0.x.fixed(1))\" cy=\"\($0.y.fixed(1))\" r=\"2.5\"/>"
            }
        return (["<polyline class=\"s\(index)\" points=\"\(points)\"/>"] + dots).joined()
    }

    private func bar(
        _ bar: (from: Double, to: Double, height: Double), _ horizontal: Axis, _ vertical: Axis
    ) -> String {
        guard let start = place((bar.from, bar.height), horizontal, vertical),
            let end = place((bar.to, 0), horizontal, vertical)
        else { return "" }
        let (width, height) = (max(0.5, end.x - start.x - 0.5), Self.frame.bottom - start.y)
        return "<rect class=\"f0\" x=\"\(start.x.fixed(1))\" y=\"\(start.y.fixed(1))\" width=\"\(width.fixed(1))\""
            + " height=\"\(height.fixed(1))\"/>"
    }

    private func grid(_ horizontal: Axis, _ vertical: Axis) -> String {
        var parts: [String] = []
        for tick in vertical.ticks {
            guard let share = vertical.share(tick) else { continue }
            let y = (Self.frame.bottom - share * (Self.frame.bottom - Self.frame.top)).fixed(1)
            parts.append(
                "<line class=\"grid\" x1=\"\(Self.frame.left)\" x2=\"\(Self.frame.right)\" y1=\"\(y)\" y2=\"\(y)\"/>"
                    + "<text class=\"tick end\" x=\"\(Self.frame.left - 6)\" y=\"\(y)\" dy=\"4\">\(tick.short)</text>")
        }
        for tick in horizontal.ticks {
            guard let share = horizontal.share(tick) else { continue }
            let x = (Self.frame.left + share * (Self.frame.right - Self.frame.left)).fixed(1)
            parts.append(
                "<line class=\"grid\" x1=\"\(x)\" x2=\"\(x)\" y1=\"\(Self.frame.top)\" y2=\"\(Self.frame.bottom)\"/>"
                    + "<text class=\"tick middle\" x=\"\(x)\" y=\"\(Self.frame.bottom + 16)\">\(tick.short)</text>")
        }
        let middle = (Self.frame.top + Self.frame.bottom) / 2
        parts.append(
            "<text class=\"label middle\" x=\"\((Self.frame.left + Self.frame.right) / 2)\" y=\"\(Self.size.height - 6)\">"
                + "\(x.label.htmlText)</text>")
        parts.append(
            "<text class=\"label middle\" transform=\"translate(16 \(middle)) rotate(-90)\">\(y.label.htmlText)</text>")
        return parts.joined(separator: "\n")
    }

    /// Above the frame, from the right.
    private var legend: String {
        guard lines.count > 1 else { return "" }
        var right = Self.frame.right
        return lines.enumerated().reversed().map { index, series in
            defer { right -= 24 + 7.0 * Double(series.name.count) }
            let start = right - 7.0 * Double(series.name.count)
            return
                "<line class=\"s\(index)\" x1=\"\((start - 18).fixed(0))\" x2=\"\((start - 4).fixed(0))\" y1=\"16\" y2=\"16\"/>"
                + "<text class=\"tick\" x=\"\(start.fixed(0))\" y=\"20\">\(series.name.htmlText)</text>"
        }
        .joined()
    }
}

/// From which value to which an axis goes, and where its ticks are.
private struct Axis {
    let ticks: [Double]
    private let low: Double
    private let high: Double
    private let scale: Plot.Scale

    init?(_ values: [Double], _ scale: Plot.Scale, isFromZero: Bool) {
        let usable = values.filter { $0.isFinite && (scale == .linear || $0 > 0) }
        guard let least = usable.min(), let most = usable.max() else { return nil }
        self.scale = scale
        switch scale {
        case .linear:
            let start = isFromZero ? min(0, least) : least
            let step = Self.step((most > start ? most - start : max(1, abs(most))) / 5)
            low = (start / step).rounded(.down) * step
            high = max((most / step).rounded(.up), low / step + 1) * step
            ticks = Array(stride(from: low, through: high + step / 2, by: step))
        case .logarithmic:
            let decade = { (value: Double, rule: FloatingPointRoundingRule) in Self.power(Self.decades(value, rule)) }
            low = decade(least, .down)
            high = max(decade(most, .up), low * 10)
            var ticks: [Double] = []
            var tick = low
            while tick <= high * 1.001 {
                ticks.append(tick)
                tick *= 10
            }
            self.ticks = ticks
        }
    }

    /// From 0 at the axis's beginning to 1 at its end; `nil` for what cannot be shown.
    func share(_ value: Double) -> Double? {
        switch scale {
        case .linear: return (value - low) / (high - low)
        case .logarithmic:
            guard value > 0 else { return nil }
            return (Self.logarithm(value) - Self.logarithm(low)) / (Self.logarithm(high) - Self.logarithm(low))
        }
    }

    /// The next of 1, 2, 5, 10, … .
    private static func step(_ least: Double) -> Double {
        let power = power(decades(least, .down))
        return [1, 2, 5, 10].map { $0 * power }.first { $0 >= least * 0.999 } ?? 10 * power
    }

    private static func decades(_ value: Double, _ rule: FloatingPointRoundingRule) -> Int {
        let exact = logarithm(value)
        // Of what is a power of ten but for the last digit.
        return Int(abs(exact - exact.rounded()) < 1e-9 ? exact.rounded() : exact.rounded(rule))
    }

    private static func power(_ exponent: Int) -> Double {
        (0..<abs(exponent)).reduce(1.0) { value, _ in exponent > 0 ? value * 10 : value / 10 }
    }

    /// Base 10, by halving: no library of mathematics is needed for a plot.
    private static func logarithm(_ value: Double) -> Double {
        var (rest, whole) = (value, 0.0)
        while rest >= 10 { (rest, whole) = (rest / 10, whole + 1) }
        while rest < 1 { (rest, whole) = (rest * 10, whole - 1) }
        var (fraction, bit) = (0.0, 0.5)
        for _ in 0..<40 {
            rest *= rest
            if rest >= 10 { (rest, fraction) = (rest / 10, fraction + bit) }
            bit /= 2
        }
        return whole + fraction
    }
}

extension String {
    /// As a text of HTML and SVG.
    var htmlText: String {
        var text = ""
        for character in self {
            switch character {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            default: text.append(character)
            }
        }
        return text
    }
}
