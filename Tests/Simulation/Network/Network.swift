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

        static func drawn(_ random: inout SeededGenerator) -> Weather {
            func rate(_ most: Double) -> Double {
                Bool.random(using: &random) ? 0 : Double.random(in: 0...most, using: &random)
            }
            return Weather(lossBefore: rate(0.1), lossAfter: rate(0.1), slow: rate(0.05))
        }
    }

    var weather: Weather
    private var random: SeededGenerator
    /// Pairs of parts between which nothing goes, and until when.
    private var partitions: [String: (began: UInt64, end: UInt64)] = [:]
    /// No fault is drawn any more, and partitions have ended.
    var isCalm = false

    init(seed: UInt64, weather: Weather) {
        random = SeededGenerator(seed: seed)
        self.weather = weather
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
        if separation(one, other) != nil { return .refused }
        if chance(weather.lossBefore * share) { return .lostBefore }
        if chance(weather.lossAfter * share) { return .lostAfter }
        return .delivered
    }

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
