import CloakroomCurl
import CloakroomLoad
import CloakroomLoop

/// What the line of `cloakroom load` says, checked.
struct LoadOptions {
    let address: LoadAddress
    let mix: RequestMix
    /// In requests per second, one for each step.
    let rates: [Double]
    /// Of each step, in seconds.
    let seconds: Double
    let warmUp: Double
    let ramp: Double
    let version: HTTPVersion
    let certificateAuthorities: String?
    let connections: Int
    let maximumOpen: Int
    let timeout: Duration
    let bars: [LoadBar]
    let findsKnee: Bool
    let keysPerRequest: Int

    static let maximumRate = 100_000.0
    /// Of a run that is to show whether bars are kept.
    static let leastRequests = 20.0
    private static let maximumSeconds = 86_400.0
    private static let maximumRequests = 100_000_000.0

    init(_ options: Options) throws(EarlyExit) {
        // `--fail-if 'p99>50ms' 'errors>0.1%'`: what holds a sign is a bar, wherever it stands.
        let (bars, others) = (
            options.operands.filter(Self.holdsSign), options.operands.filter { !Self.holdsSign($0) }
        )
        guard others.count == 1 else { throw .usage("load takes one URL or address") }
        guard let address = LoadAddress(others[0]) else {
            throw .usage("\(others[0]) is neither https://HOST[:PORT], unix:PATH nor fastcgi://ADDRESS:PORT")
        }
        if let host = address.remoteHost, options.values["yes-load"]?.lowercased() != host {
            throw .usage(
                "\(host) is not this machine: a load is for what is your own; add --yes-load \(host) if that is meant")
        }
        self.address = address
        do throws(RequestMix.ParsingError) { mix = try RequestMix(parsing: options.values["mix"] ?? "vend") } catch {
            throw .usage(Self.sentence(error))
        }
        rates = try Self.rates(options.values["rate"] ?? "10")
        findsKnee = options.flags.contains("find-knee")
        seconds = try Self.seconds("duration", options, default: findsKnee ? 10 : 30)
        warmUp = try Self.seconds("warm-up", options, default: 2, least: 0)
        ramp = try Self.seconds("ramp", options, default: 0, least: 0)
        guard let version = HTTPVersion(rawValue: options.values["http"] ?? "1.1") else {
            throw .usage("--http takes \(HTTPVersion.allCases.map(\.rawValue).joined(separator: " or "))")
        }
        self.version = version
        certificateAuthorities = options.values["ca"]
        connections = try options.number("connections", 1...16_384, default: 256)
        maximumOpen = try options.number("max-open", 1...100_000, default: 10_000)
        timeout = .seconds(try Self.seconds("timeout", options, default: 10))
        keysPerRequest = try options.number("keys-per-request", 1...100, default: 1)
        let written = (options.lists["fail-if"] ?? []) + bars
        var parsed: [LoadBar] = []
        for text in written.flatMap({ $0.split(separator: ",") }) {
            guard let bar = LoadBar(String(text)) else {
                throw .usage(
                    "\(text) is no bar; there are, for one, p99>50ms, errors>0.1%, throughput<900, vend:p50>9ms")
            }
            if let route = bar.route, !mix.shares.contains(where: { $0.route == route }) {
                throw .usage("\(text) is about a route that --mix has not")
            }
            parsed.append(bar)
        }
        self.bars = findsKnee ? KneeSearch.bars(parsed, mix) : parsed
        try checkSize()
    }

    /// Of one run, without a search.
    var schedule: LoadSchedule { .steps(rates, seconds: seconds, warmUp: warmUp, ramp: ramp) }

    /// Of one run of a search.
    func schedule(at rate: Double) -> LoadSchedule { .steps([rate], seconds: seconds, warmUp: warmUp, ramp: ramp) }

    /// How long it may take, in seconds: with a search, with a pause behind each run.
    var longest: Double {
        findsKnee ? Double(KneeSearch.mostRuns) * (schedule.seconds + timeout / .seconds(1) + 1) : schedule.seconds
    }

    var speaks: String {
        switch address {
        case .http: "HTTP/\(version.rawValue)"
        case .fastCGI: "FastCGI"
        }
    }

    private func checkSize() throws(EarlyExit) {
        if findsKnee, rates.count > 1 { throw .usage("--find-knee takes one --rate, from which it begins") }
        if findsKnee, rates[0] * seconds < Self.leastRequests {
            throw .usage(
                "--find-knee takes runs of \(Int(Self.leastRequests)) requests or more: a higher --rate, or --duration")
        }
        let schedule = schedule
        guard schedule.seconds <= Self.maximumSeconds else { throw .usage("a run takes a day at most") }
        guard
            schedule.phases.reduce(0, { $0 + ($1.rates.start + $1.rates.end) / 2 * $1.seconds }) <= Self.maximumRequests
        else { throw .usage("a run has \(Int(Self.maximumRequests)) requests at most") }
    }

    private static func holdsSign(_ word: String) -> Bool { word.contains(">") || word.contains("<") }

    private static func rates(_ text: String) throws(EarlyExit) -> [Double] {
        let rates = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? 0 }
        guard rates.count <= 100, rates.allSatisfy({ $0 > 0 && $0 <= maximumRate }) else {
            throw .usage("--rate takes requests per second up to \(Int(maximumRate)), several with commas between them")
        }
        return rates
    }

    private static func seconds(
        _ name: String, _ options: Options, default usual: Double, least: Double = 0.1
    ) throws(EarlyExit) -> Double {
        guard let text = options.values[name] else { return usual }
        guard let seconds = DurationArgument.seconds(text), (least...maximumSeconds).contains(seconds) else {
            throw .usage("--\(name) takes a number and a unit, such as 500ms, 30s or 5m")
        }
        return seconds
    }

    private static func sentence(_ error: RequestMix.ParsingError) -> String {
        switch error {
        case .malformed(let part): "\(part) of --mix is no ROUTE=WEIGHT"
        case .unknownRoute(let name):
            "--mix has no route \(name); there are: \(LoadRoute.allCases.map(\.rawValue).joined(separator: ", "))"
        case .twice(let name): "--mix has \(name) twice"
        case .noWeight: "--mix has no route with a weight"
        }
    }
}
