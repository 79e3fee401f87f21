/// When each request of a run is to be sent, whatever becomes of the others: a pure function of its number.
package struct LoadSchedule: Sendable, Equatable {
    /// A length of time in which the rate changes evenly, or stays.
    package struct Phase: Sendable, Equatable {
        /// Requests per second, at its beginning and at its end.
        package let rates: (start: Double, end: Double)
        package let seconds: Double
        /// Whether its results count: those of a warm-up and of a ramp do not.
        package let isMeasured: Bool

        package init(from start: Double, to end: Double, seconds: Double, isMeasured: Bool) {
            rates = (start, end)
            self.seconds = seconds
            self.isMeasured = isMeasured
        }

        package static func steady(_ rate: Double, seconds: Double, isMeasured: Bool = true) -> Phase {
            Phase(from: rate, to: rate, seconds: seconds, isMeasured: isMeasured)
        }

        package static func == (left: Phase, right: Phase) -> Bool {
            left.rates == right.rates && left.seconds == right.seconds && left.isMeasured == right.isMeasured
        }

        /// How many requests belong to it, which need not be whole.
        var requests: Double { (rates.start + rates.end) / 2 * seconds }

        /// - Parameter requests: since its beginning.
        /// - Returns: when so many have been sent, in seconds since then: the root of at² + bt = requests, in the form that
        ///   is exact for a = 0, too.
        func seconds(after requests: Double) -> Double {
            guard requests > 0 else { return 0 }
            let slope = (rates.end - rates.start) / seconds
            let root = max(0, rates.start * rates.start + 2 * slope * requests).squareRoot()
            return min(seconds, 2 * requests / (rates.start + root))
        }
    }

    package let phases: [Phase]
    /// Of all phases.
    package let requests: Int
    package let seconds: Double
    /// Before each phase.
    private let requestsBefore: [Double]
    private let secondsBefore: [Double]

    package init(_ phases: [Phase]) {
        self.phases = phases
        var (requests, seconds) = (0.0, 0.0)
        var (requestsBefore, secondsBefore): ([Double], [Double]) = ([], [])
        for phase in phases {
            requestsBefore.append(requests)
            secondsBefore.append(seconds)
            requests += phase.requests
            seconds += phase.seconds
        }
        self.requestsBefore = requestsBefore
        self.secondsBefore = secondsBefore
        self.seconds = seconds
        // What a sum of fractions lacks of a whole number is no further request.
        self.requests = Int((requests - 1e-6).rounded(.up))
    }

    /// - Parameters:
    ///   - rates: one step each.
    ///   - warmUp: seconds at the first rate, which are not measured.
    ///   - ramp: seconds in which the rate rises before each step, from the one before, or from nothing.
    package static func steps(_ rates: [Double], seconds: Double, warmUp: Double = 0, ramp: Double = 0) -> LoadSchedule
    {
        var phases: [Phase] = []
        var former = 0.0
        for (index, rate) in rates.enumerated() {
            if ramp > 0 { phases.append(Phase(from: former, to: rate, seconds: ramp, isMeasured: false)) }
            if index == 0, warmUp > 0 { phases.append(.steady(rate, seconds: warmUp, isMeasured: false)) }
            phases.append(.steady(rate, seconds: seconds))
            former = rate
        }
        return LoadSchedule(phases)
    }

    /// - Parameter request: its number, from 0.
    /// - Returns: in nanoseconds since the beginning, and of which phase it is.
    package func instant(of request: Int) -> (nanoseconds: UInt64, phase: Int) {
        let number = Double(request)
        var phase = phases.count - 1
        while phase > 0, number < requestsBefore[phase] - 1e-6 { phase -= 1 }
        let seconds = secondsBefore[phase] + phases[phase].seconds(after: number - requestsBefore[phase])
        return (UInt64(seconds * 1e9), phase)
    }

    /// When a phase begins, in seconds since the run did.
    package func start(ofPhase phase: Int) -> Double { secondsBefore[phase] }
}
