import CloakroomJSON

/// Looks for the highest rate that keeps the bars: doubles until one is broken, then halves what lies between.
///
/// What it finds was shown three times: the rate kept the bars in three runs, and one that is a little higher broke them in
/// three. A run that says otherwise moves the bounds and begins the count anew.
package struct KneeSearch: Sendable {
    package enum Outcome: Sendable, Equatable {
        /// Requests per second that kept the bars, and that broke them.
        case found(good: Double, bad: Double)
        /// Even the lowest rate that was tried.
        case everyRateBroken(Double)
        /// Not even the highest that may be tried.
        case noneBroken(Double)
        /// The generator could not send so many at their times, or on its connections: ``LoadStep/doubt``.
        case generatorLimit(Double, String)
        /// Runs at the same rate went on to differ.
        case unsteady(Double)
        /// There were responses of 429: a limit of the users, or of this address, is used up, which says nothing of what the
        /// server can do.
        case limitsReached(Double)
        /// There were responses of 401: the tokens are refused, which says nothing of what the server can do.
        case tokensRefused(Double)
        /// A run had no request that the bar is about.
        case notMeasured(LoadBar, Double)
    }

    package enum Next: Sendable, Equatable {
        case run(Double)
        case end(Outcome)
    }

    private struct Bound {
        let rate: Double
        /// How many runs have shown it.
        var shown = 1
    }

    /// How far apart the two rates are that are found, at most: 5 %.
    static let precision = 1.05
    static let timesShown = 3
    package static let mostRuns = 60
    private static let mostDoubtfulRuns = 3

    package private(set) var next: Next
    private let lowest: Double
    private let highest: Double
    private var good: Bound?
    private var bad: Bound?
    /// Whether both were known at once: from then on the knee is near.
    private var isNear = false
    private var runs = 0
    private var doubtfulRuns = 0
    /// The least ``LoadStep/meanOnConnection`` of a run that kept the bars.
    private var shortest: Double?

    /// - Parameters:
    ///   - first: in requests per second.
    ///   - lowest: the least that may be tried.
    ///   - highest: the most.
    package init(from first: Double, lowest: Double = 0, highest: Double) {
        next = .run(first)
        self.lowest = max(lowest, first / 1024)
        self.highest = highest
    }

    /// The bars of a search: those that are given, and the default ones for what they leave out.
    ///
    /// A server that refuses every request does so fast, and keeps each bar of latency.
    ///
    /// - Returns: with a bar for the errors of each route, and with one of latency where none at all is given.
    package static func bars(_ given: [LoadBar], _ mix: RequestMix) -> [LoadBar] {
        let routes = mix.shares.map(\.route).filter { route in
            !given.contains { $0.limitsErrors && ($0.route == nil || $0.route == route) }
        }
        var added = given.isEmpty ? ["p99>100ms"] : []
        if routes.count == mix.shares.count {
            added.append("errors>0.1%")
        } else {
            added += routes.map { "\($0.rawValue):errors>0.1%" }
        }
        return given + added.compactMap { LoadBar($0) }
    }

    /// Takes what a run at the rate of ``next`` measured.
    ///
    /// - Returns: whether it kept the bars.
    @discardableResult
    package mutating func record(_ step: LoadStep, _ bars: [LoadBar]) -> Bool {
        let verdicts = step.verdicts(bars)
        let isKept = !verdicts.contains { $0.isBroken }
        if step.all.statuses[429] != nil {
            next = .end(.limitsReached(step.rate))
        } else if step.all.statuses[401] != nil {
            next = .end(.tokensRefused(step.rate))
        } else if let verdict = verdicts.first(where: { $0.value == nil }) {
            next = .end(.notMeasured(verdict.bar, step.rate))
        } else {
            record(kept: isKept, doubt: doubt(of: step))
        }
        if isKept { shortest = min(shortest ?? .infinity, step.meanOnConnection) }
        return isKept
    }

    /// Why bars that a run broke say nothing of the server; `nil` where they do.
    ///
    /// Beyond the server's own limit all connections are busy as well, or requests are not sent since too many are open. But
    /// then a request that has a connection takes much longer than when the bars were kept; where it does not, the server
    /// could handle more of them at once. Before a run has kept the bars there is nothing to compare with, and the next rate
    /// is lower in any case.
    package func doubt(of step: LoadStep) -> String? {
        guard !step.isLate else { return step.doubt }
        guard let shortest, step.meanOnConnection < 2 * shortest else { return nil }
        return step.doubt
    }

    /// Takes what the run showed that ``next`` asked for.
    ///
    /// - Parameter doubt: why it says nothing of the server; a run that kept its bars nevertheless has shown that.
    package mutating func record(kept: Bool, doubt: String?) {
        guard case .run(let rate) = next else { return }
        runs += 1
        if !kept, let doubt {
            doubtfulRuns += 1
            if doubtfulRuns == Self.mostDoubtfulRuns { next = .end(.generatorLimit(rate, doubt)) }
            return
        }
        doubtfulRuns = 0
        if kept { raise(to: rate) } else { lower(to: rate) }
        isNear = isNear || good != nil && bad != nil
        next = runs < Self.mostRuns ? following(rate) : .end(.unsteady(rate))
    }

    private mutating func raise(to rate: Double) {
        if good?.rate == rate { good?.shown += 1 } else { good = Bound(rate: rate) }
        if let bad, bad.rate <= rate { self.bad = nil }
    }

    private mutating func lower(to rate: Double) {
        if bad?.rate == rate { bad?.shown += 1 } else { bad = Bound(rate: rate) }
        if let good, good.rate >= rate { self.good = nil }
    }

    private func following(_ rate: Double) -> Next {
        switch (good, bad) {
        case (nil, nil): return .run(rate)
        case (let good?, nil):
            guard good.rate < highest else { return .end(.noneBroken(highest)) }
            // Beyond a bound that did not hold, a little further.
            return .run(min(highest, good.rate * (isNear ? Self.precision : 2)))
        case (nil, let bad?):
            guard bad.rate > lowest else { return .end(.everyRateBroken(bad.rate)) }
            return .run(max(lowest, isNear ? bad.rate / Self.precision : bad.rate / 2))
        case (let good?, let bad?):
            guard bad.rate <= good.rate * Self.precision else { return .run(between(good.rate, bad.rate)) }
            if good.shown < Self.timesShown, good.shown <= bad.shown { return .run(good.rate) }
            if bad.shown < Self.timesShown { return .run(bad.rate) }
            return good.shown < Self.timesShown ? .run(good.rate) : .end(.found(good: good.rate, bad: bad.rate))
        }
    }

    private func between(_ good: Double, _ bad: Double) -> Double {
        let middle = (good + bad) / 2
        // Whole rates read better, where they tell the two apart.
        let whole = middle.rounded()
        return whole > good && whole < bad && middle >= 100 ? whole : middle
    }
}

extension KneeSearch.Outcome {
    package var text: String {
        switch self {
        case .found(let good, let bad):
            "\(good.short)/s keeps the bars, \(bad.short)/s breaks them, each shown \(KneeSearch.timesShown) times"
        case .everyRateBroken(let rate): "none found: \(rate.short)/s breaks the bars already"
        case .noneBroken(let rate): "none found: \(rate.short)/s keeps the bars, and no higher rate was to be tried"
        case .generatorLimit(let rate, let doubt):
            "none found: at \(rate.short)/s the generator is the limit, not the server: \(doubt)"
        case .unsteady(let rate): "none found: runs at about \(rate.short)/s go on to differ; give it longer runs"
        case .limitsReached(let rate):
            "none found: responses at \(rate.short)/s are 429: limits are used up, which is no knee;"
                + " give more --users and --devices, or higher limits in the settings"
        case .tokensRefused(let rate):
            "none found: responses at \(rate.short)/s are 401: the tokens are refused or have ended;"
                + " see --issuer, --audience and --key-id, or give later --tokens"
        case .notMeasured(let bar, let rate):
            "none found: \(bar.text) is not measured at \(rate.short)/s: no such request was sent;"
                + " give its route more weight in --mix, or longer runs"
        }
    }

    var json: JSON {
        switch self {
        case .found(let good, let bad):
            ["found": .bool(true), "good": .number(good), "bad": .number(bad), "text": .string(text)]
        case .everyRateBroken, .noneBroken, .generatorLimit, .unsteady, .limitsReached, .tokensRefused, .notMeasured:
            ["found": .bool(false), "text": .string(text)]
        }
    }
}
