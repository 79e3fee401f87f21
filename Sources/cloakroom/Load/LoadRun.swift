import CloakroomConnections
import CloakroomCurl
import CloakroomFastCGI
import CloakroomLoad
import CloakroomLoop
import Glibc

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Runs a load, or several until the knee is found, shows how it goes, and gathers the report.
@LoopActor
final class LoadRun {
    private let options: LoadOptions
    private let requests: LoadRequests
    private let tokens: Int
    private let watch: WorkerWatch
    private let clock: SystemLoadClock
    private let progress = ProgressLine()
    private var running: OpenLoop?
    private var isStopped = false
    private var steps: [LoadStep] = []
    private var moments: [LoadReport.Moment] = []
    private var sent = 0
    private let start = Monotonic.now
    private let startCPU = processCPU()
    private let started = Date()

    init(_ options: LoadOptions, _ requests: LoadRequests, tokens: Int, workers: [Int32]) throws(SystemError) {
        self.options = options
        self.requests = requests
        self.tokens = tokens
        watch = WorkerWatch(workers)
        clock = try SystemLoadClock()
    }

    /// Lets what is open come back, and tells of what was done so far.
    func stop() {
        isStopped = true
        running?.stop()
    }

    func report() async -> LoadReport {
        let target = target()
        watch.begin()
        var knee: KneeSearch.Outcome?
        if options.findsKnee {
            knee = await search(target)
        } else {
            await run(options.schedule, target)
        }
        watch.end()
        progress.clear()
        return LoadReport(
            LoadReport.Run(
                target: options.address.description, speaks: options.speaks, mix: options.mix.text, tokens: tokens,
                started: started.formatted(.iso8601)),
            steps: steps, moments: moments,
            generator: generator,
            workers: watch.workers, bars: options.bars, knee: knee, wasStopped: isStopped)
    }

    // MARK: Running

    private func run(_ schedule: LoadSchedule, _ target: some LoadTarget) async {
        let loop = OpenLoop(
            schedule, options.mix, target: target, clock: clock, maximumOpen: options.maximumOpen)
        running = loop
        let second = elapsed
        show(loop, schedule)
        await loop.run()
        running = nil
        steps += loop.tally.steps(schedule, options.mix)
        moments += loop.tally.moments(from: second)
        sent += loop.tally.phases.reduce(0) { $0 + $1.all.latency.count }
    }

    /// - Returns: `nil` when it was stopped before.
    private func search(_ target: some LoadTarget) async -> KneeSearch.Outcome? {
        var search = KneeSearch(
            from: options.rates[0], lowest: LoadOptions.leastRequests / options.seconds,
            highest: LoadOptions.maximumRate)
        while !isStopped {
            switch search.next {
            case .end(let outcome): return outcome
            case .run(let rate):
                let before = steps.count
                await run(options.schedule(at: rate), target)
                guard !isStopped, steps.count > before, let step = steps.last else { continue }
                let doubt = search.doubt(of: step)
                let isKept = search.record(step, options.bars)
                progress.clear()
                let p99 = step.all.latency.percentile(99).durationText
                Output.note(
                    "\(rate.short)/s \(isKept ? "keeps" : "breaks") the bars: p99 \(p99), \(step.all.errors) errors"
                        + (doubt.map { "; \($0)" } ?? ""))
                // What the server has queued is done before the next run; it may need a moment for more.
                try? await LoopActor.sleep(for: .seconds(1))
            }
        }
        return nil
    }

    private func target() -> any LoadTarget {
        switch options.address {
        case .http:
            if options.version == .http1, let server = options.address.plainServer() {
                let client = PlainHTTPClient(
                    authority: server.authority, addresses: server.addresses, maximumConnections: options.connections)
                return ConnectionsLoadTarget(requests, client: client, timeout: options.timeout)
            }
            var transport = LoopCurlTransport.Options()
            transport.keptConnections = options.connections
            transport.maximumConnections = options.connections
            transport.certificateAuthorities = options.certificateAuthorities
            transport.connectTimeout = options.timeout
            transport.version = options.version
            return HTTPLoadTarget(requests, options: transport, timeout: options.timeout)
        case .fastCGI(let address):
            let client = FastCGIClient(address, maximumConnections: options.connections)
            return ConnectionsLoadTarget(requests, client: client, timeout: options.timeout)
        }
    }

    private var generator: LoadReport.Generator {
        let cpu = processCPU()
        return LoadReport.Generator(
            seconds: elapsed, userSeconds: cpu.user - startCPU.user, systemSeconds: cpu.system - startCPU.system,
            requests: sent)
    }

    // MARK: Progress

    private var elapsed: Double { Double(Monotonic.now - start) / 1e9 }

    /// Five times a second, as long as the run takes.
    private func show(_ loop: OpenLoop, _ schedule: LoadSchedule) {
        EventPoller.shared.schedule(after: .milliseconds(200)) { [weak self, weak loop] in
            guard let self, let loop, running === loop else { return }
            let latest = loop.tally.takeLatest()
            let seconds = 0.2
            progress.update(
                "\(loop.elapsed.fixed(0)) of \(schedule.seconds.fixed(0)) s: \((Double(latest.due) / seconds).fixed(0))/s due,"
                    + " \((Double(latest.latency.count) / seconds).fixed(0))/s back, \(loop.tally.open) open,"
                    + " p50 \(latest.latency.percentile(50).durationText), p99 \(latest.latency.percentile(99).durationText),"
                    + " \(latest.errors) errors")
            show(loop, schedule)
        }
    }
}

/// User and system time of this process so far, in seconds.
private func processCPU() -> (user: Double, system: Double) {
    var usage = rusage()
    guard getrusage(RUSAGE_SELF.rawValue, &usage) == 0 else { return (0, 0) }
    let seconds = { (time: timeval) in Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return (seconds(usage.ru_utime), seconds(usage.ru_stime))
}
