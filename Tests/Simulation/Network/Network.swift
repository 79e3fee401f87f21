import CloakroomKitTestSupport
import CloakroomLoop

/// How messages fare between two parts of the world.
@LoopActor
final class Network {
    enum Fate {
        case delivered
        /// Never arrived.
        case lostBefore
        /// Arrived and did what it does; the response never came back.
        case lostAfter
        /// No connection.
        case refused
    }

    /// What goes wrong how often, drawn for each seed: much of it more often than in life, some of it never.
    struct Weather {
        var lossBefore = 0.0
        var lossAfter = 0.0
        /// Of messages, so many take seconds.
        var slow = 0.0

        static func drawn(_ draw: Draw) -> Weather {
            var random = draw.generator("weather")
            func rate(_ most: Double, _ fault: Fault) -> Double {
                let isNone = Bool.random(using: &random)
                let rate = Double.random(in: 0...most, using: &random)
                return isNone || fault.isLeftOut ? 0 : rate
            }
            return Weather(
                lossBefore: rate(0.1, .lostRequests), lossAfter: rate(0.1, .lostResponses),
                slow: rate(0.05, .slowMessages))
        }
    }

    let weather: Weather
    private let draw: Draw
    /// Of delays, and of what a part of the world does for itself.
    private var random: SeededGenerator
    /// Of the losses between two parts.
    private var losses: [String: SeededGenerator] = [:]
    /// When a message between two parts was last lost.
    private var lastLosses: [String: UInt64] = [:]
    /// Pairs of parts between which nothing goes, and until when.
    private var partitions: [String: (began: UInt64, end: UInt64)] = [:]
    /// No fault is drawn any more, and partitions have ended.
    var isCalm = false

    init(_ draw: Draw) {
        self.draw = draw
        random = draw.generator("network")
        weather = .drawn(draw)
    }

    func separate(_ one: String, _ other: String, for seconds: Double) {
        partitions[Self.pair(one, other)] = (VirtualTime.now, VirtualTime.now + UInt64(seconds * 1e9))
        Trace.note("network", "\(one) and \(other) are separated for \(Int(seconds)) s")
        Trace.reached("partition")
    }

    /// - Returns: for how many seconds nothing has gone between them; `nil` when it goes.
    func separation(_ one: String, _ other: String) -> Double? {
        guard !isCalm, let partition = partitions[Self.pair(one, other)], VirtualTime.now < partition.end else {
            return nil
        }
        return Double(VirtualTime.now - partition.began) / 1e9
    }

    /// What becomes of one exchange between two parts.
    ///
    /// - Parameter share: of the weather's losses.
    func fate(_ one: String, _ other: String, share: Double = 1) -> Fate {
        guard !isCalm else { return .delivered }
        let pair = Self.pair(one, other)
        if separation(one, other) != nil {
            lastLosses[pair] = VirtualTime.now
            return .refused
        }
        // Drawn of each message, whatever the weather is.
        let (before, after) = Self.pairOfDraws(&losses[pair, default: draw.generator(pair)])
        guard before < weather.lossBefore * share || after < weather.lossAfter * share else { return .delivered }
        lastLosses[pair] = VirtualTime.now
        return before < weather.lossBefore * share ? .lostBefore : .lostAfter
    }

    private static func pairOfDraws(_ random: inout SeededGenerator) -> (Double, Double) {
        (Double.random(in: 0..<1, using: &random), Double.random(in: 0..<1, using: &random))
    }

    /// One of the two is not there.
    func noteLoss(_ one: String, _ other: String) { lastLosses[Self.pair(one, other)] = VirtualTime.now }

    func lastLoss(_ one: String, _ other: String) -> UInt64? { lastLosses[Self.pair(one, other)] }

    /// Of one direction.
    func delay(_ typicalMilliseconds: Double) -> Duration {
        let slow = !isCalm && chance(weather.slow)
        let milliseconds =
            typicalMilliseconds * Double.random(in: 0.5...2, using: &random)
            + (slow ? Double.random(in: 500...8000, using: &random) : 0)
        return .microseconds(Int(milliseconds * 1000))
    }

    func chance(_ share: Double) -> Bool { share > 0 && Double.random(in: 0..<1, using: &random) < share }

    private static func pair(_ one: String, _ other: String) -> String {
        one < other ? "\(one)|\(other)" : "\(other)|\(one)"
    }
}
