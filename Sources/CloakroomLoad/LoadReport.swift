/// Everything that a run found out, as text, JSON and HTML tell it.
package struct LoadReport: Sendable {
    /// What was run, in the words of the command line.
    package struct Run: Sendable {
        /// URL or address.
        package let target: String
        /// Such as `HTTP/1.1`.
        package let speaks: String
        package let mix: String
        package let tokens: Int
        /// ISO 8601, in UTC.
        package let started: String

        package init(target: String, speaks: String, mix: String, tokens: Int, started: String) {
            self.target = target
            self.speaks = speaks
            self.mix = mix
            self.tokens = tokens
            self.started = started
        }
    }

    /// What the generator itself used, from the first request to the last response.
    package struct Generator: Sendable {
        package let seconds: Double
        package let userSeconds: Double
        /// In the kernel, which also counts what it takes to wake the server.
        package let systemSeconds: Double
        package let requests: Int

        package init(seconds: Double, userSeconds: Double, systemSeconds: Double, requests: Int) {
            self.seconds = seconds
            self.userSeconds = userSeconds
            self.systemSeconds = systemSeconds
            self.requests = requests
        }

        package var cpuSeconds: Double { userSeconds + systemSeconds }
        package var cpuMicrosecondsPerRequest: Double { requests == 0 ? 0 : cpuSeconds * 1e6 / Double(requests) }
        package var userMicrosecondsPerRequest: Double { requests == 0 ? 0 : userSeconds * 1e6 / Double(requests) }
    }

    /// A short time of the run.
    package struct Moment: Sendable {
        /// Since the run began, and how long it is.
        package let second: Double
        package let width: Double
        /// Of the requests that were due in it.
        package let group: LoadTally.Group
        /// Responses that came in it.
        package let ended: Int
    }

    package let run: Run
    package let steps: [LoadStep]
    package let moments: [Moment]
    package let generator: Generator
    package let workers: [WorkerUsage]
    package let verdicts: [LoadVerdict]
    package let knee: KneeSearch.Outcome?
    package let wasStopped: Bool

    package init(
        _ run: Run, steps: [LoadStep], moments: [Moment], generator: Generator, workers: [WorkerUsage], bars: [LoadBar],
        knee: KneeSearch.Outcome? = nil, wasStopped: Bool
    ) {
        self.run = run
        self.steps = steps
        self.moments = moments
        self.generator = generator
        self.workers = workers
        self.knee = knee
        self.wasStopped = wasStopped
        // A search for the knee breaks them on purpose.
        verdicts = knee == nil ? steps.flatMap { $0.verdicts(bars) } : []
    }

    /// How a program that started the run is told of it.
    package enum Result: String, Sendable {
        case met
        case broken
        /// No response at all, or no knee.
        case failed
        /// The generator was late, or short of connections: neither good nor bad numbers are the server's.
        case doubtful
        case stopped
    }

    package var result: Result {
        if wasStopped { return .stopped }
        if let knee {
            switch knee {
            case .found: return .met
            case .generatorLimit: return .doubtful
            case .everyRateBroken, .noneBroken, .unsteady, .limitsReached, .tokensRefused, .notMeasured: return .failed
            }
        }
        // However late the requests were.
        if steps.allSatisfy({ $0.all.statuses.isEmpty }) { return .failed }
        if !doubts.isEmpty { return .doubtful }
        return verdicts.contains { $0.isBroken } ? .broken : .met
    }

    /// Why its numbers are not valid; those of a search's steps, which repeats them, are its own affair.
    package var doubts: [String] {
        guard knee == nil else { return [] }
        return steps.compactMap { step in step.doubt.map { "at \(step.rate.short)/s: \($0)" } }
    }
}

extension LoadTally {
    /// - Parameter second: when the run began, in seconds since the first of several.
    package func moments(from second: Double = 0) -> [LoadReport.Moment] {
        slices.enumerated().map { index, slice in
            LoadReport.Moment(
                second: second + Double(index) * sliceSeconds, width: sliceSeconds, group: slice.group,
                ended: slice.ended)
        }
    }
}

/// What a worker used during a run.
package struct WorkerUsage: Sendable {
    package struct Sample: Sendable, Equatable {
        /// Since the run began.
        package let second: Double
        /// Of one core, since the sample before.
        package let cpu: Double
        package let residentBytes: Int

        package init(second: Double, cpu: Double, residentBytes: Int) {
            self.second = second
            self.cpu = cpu
            self.residentBytes = residentBytes
        }
    }

    package let process: Int32
    package var samples: [Sample] = []

    package init(process: Int32) { self.process = process }

    package var meanCPU: Double {
        samples.isEmpty ? 0 : samples.reduce(0) { $0 + $1.cpu } / Double(samples.count)
    }
    package var mostBytes: Int { samples.map(\.residentBytes).max() ?? 0 }
}
