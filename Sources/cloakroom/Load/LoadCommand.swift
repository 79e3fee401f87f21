import CloakroomCLinux
import CloakroomCurl
import CloakroomLoad
import CloakroomLoop
import Glibc
import Synchronization

/// `cloakroom load`
enum LoadCommand: Command {
    static let syntax = CommandSyntax(
        "load", "send a deployment of your own as many requests as you say, and measure it",
        values: [
            "rate": .text, "duration": .text, "warm-up": .text, "ramp": .text, "mix": .text, "users": .text,
            "devices": .text, "user-prefix": .text, "tier": .text, "settings": .file, "signing-key": .file,
            "issuer": .text, "audience": .text, "key-id": .text, "tokens": .file, "keys": .file,
            "keys-per-request": .text, "http": .choice { HTTPVersion.allCases.map(\.rawValue) }, "ca": .file,
            "connections": .text, "max-open": .text, "timeout": .text, "fail-if": .text, "listen": .text,
            "workers": .text, "json": .file, "html": .file, "yes-load": .text,
        ],
        flags: ["find-knee"], operands: [.text], repeats: true)

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let load = try LoadOptions(options)
        let workers = try workers(options, load.address)
        let needsTokens = load.mix.shares.contains { $0.route.needsToken }
        let total = load.longest + 600
        let tokens = needsTokens ? try LoadTokens.all(options, lifetime: .seconds(max(3600, total))) : []
        let requests = LoadRequests(
            load.mix, origin: load.origin, tokens: tokens, keys: try keys(options), keysPerRequest: load.keysPerRequest)
        try allowConnections(load.connections)
        let files = try ReportFiles(options)
        let report = try measure(load, requests, tokens: tokens.count, workers: workers)
        return print(report, options, files)
    }

    /// Where the report goes besides standard output.
    private struct ReportFiles {
        let json: ReportFile?
        let html: ReportFile?

        init(_ options: Options) throws(EarlyExit) {
            json = if let path = options.values["json"], path != "-" { try ReportFile(path: path) } else { nil }
            html = if let path = options.values["html"] { try ReportFile(path: path) } else { nil }
        }
    }

    /// SIGINT and SIGTERM end it early; the report is of what was done.
    private static func measure(
        _ load: LoadOptions, _ requests: LoadRequests, tokens: Int, workers: [Int32]
    ) throws(EarlyExit) -> LoadReport {
        let signals = [SIGINT, SIGTERM]
        Signals.block(signals)
        signal(SIGPIPE, SIG_IGN)
        let report = Mutex<LoadReport?>(nil)
        _ = LoopActor.run {
            guard let run = try? LoadRun(load, requests, tokens: tokens, workers: workers) else { return 1 }
            let watch = try? Signals(signals) { _ in run.stop() }
            let measured = await run.report()
            withExtendedLifetime(watch) {}
            report.withLock { $0 = measured }
            return 0
        }
        guard let measured = report.withLock({ $0 }) else { throw .failure("the system allows no more open files") }
        return measured
    }

    private static func print(_ report: LoadReport, _ options: Options, _ files: ReportFiles) -> ExitStatus {
        let json = report.json.indented
        Output.print(options.values["json"] == "-" ? json : report.text)
        let written = [files.json?.write(json + "\n"), files.html?.write(report.html)]
        guard !written.contains(false) else { return .unfinished }
        switch report.result {
        case .met: return .success
        case .broken, .failed: return .failure
        case .doubtful, .stopped: return .unfinished
        }
    }

    /// Whose CPU and memory are looked at: those of `--listen`, or the one that FastCGI goes to.
    private static func workers(_ options: Options, _ address: LoadAddress) throws(EarlyExit) -> [Int32] {
        let listen: ListenPattern
        do throws(ListenPattern.PatternError) {
            let count = try ListenPattern.count(options.values["workers"] ?? "1")
            if let text = options.values["listen"] {
                listen = try ListenPattern(text, workers: count)
            } else if case .fastCGI(let worker) = address {
                listen = try ListenPattern(worker.description)
            } else {
                return []
            }
        } catch {
            throw .usage("--listen and --workers take what serve takes")
        }
        let processes = WorkerWatch.processes(of: listen)
        if processes.isEmpty {
            Output.note("no worker of this machine listens at \(listen.text): its CPU is not shown")
        }
        return processes
    }

    /// Names of objects that do not exist, where none are given: a renewal of one costs what another does, and changes
    /// nothing.
    private static func keys(_ options: Options) throws(EarlyExit) -> [String] {
        guard let path = options.values["keys"] else { return (1...1000).map { "cloakroom-load-\($0)" } }
        return try LoadFile.lines(path, option: "keys", maximumBytes: 64 << 20)
    }

    /// Each connection is an open file.
    private static func allowConnections(_ connections: Int) throws(EarlyExit) {
        let needed = UInt64(connections + 64)
        let allowed = cloakroom_allow_files(needed)
        guard allowed < needed else { return }
        throw .failure(
            "the system allows \(allowed) open files, and \(connections) connections need \(needed);"
                + " raise it with ulimit -n, or lower --connections")
    }

    static let help =
        """
        Usage: cloakroom load [options] URL
               cloakroom load [options] unix:PATH | fastcgi://ADDRESS:PORT

        Sends requests at a rate that you choose, and measures the responses: to nginx over HTTP, or straight to one worker
        over FastCGI. Requests are sent at their times whether or not earlier ones are back, and a latency counts from when
        its request was to be sent: a server that stalls for a second is seen to by every request of that second. If the
        generator itself is late, or all its connections are busy, it says that its numbers are not valid.

        It is a load on what it calls: on the users' limits, on Redis, and on STS and S3, where requests cost money. A host
        that is not this machine has to be named twice, in the URL and by --yes-load.

        Routes of a mix:

        """
        + LoadRoute.allCases.map {
            "  " + $0.rawValue + String(repeating: " ", count: 13 - $0.rawValue.count) + $0.about
        }
        .joined(separator: "\n") + """


            Load:
              --rate N[,N…]         requests per second, one step each; 10
              --duration TIME       of each step, such as 500ms, 30s or 5m; 30s
              --warm-up TIME        at the first rate, not measured; 2s
              --ramp TIME           in which the rate rises before each step, not measured; none
              --mix ROUTE=N[,…]     what is sent, by weight; vend
              --connections N       of HTTP/1.1 and FastCGI; requests beyond wait for one; 256
              --http 1.1|2          2: as few connections as carry the requests; 1.1
              --ca FILE             PEM file of whom to trust; without it, whom the system trusts
              --timeout TIME        for one request; 10s
              --max-open N          requests that may be open before no more are sent; 10000
              --yes-load HOST       the host of the URL again, if that is not this machine

            Tokens, signed before the run:
              --settings FILE       signs with the secret of an issuer of the settings
              --issuer ISSUER       which one, or without --settings the one of the tokens
              --signing-key FILE    signs with a private key instead, in PEM
              --audience A          of the tokens; the first of the issuer in the settings
              --key-id ID           of the tokens' kid; the thumbprint of the key
              --users N             so many users, 1…100000; 100
              --devices N           so many devices each; 1
              --user-prefix TEXT    of their names, before a number; load-
              --tier T              the subscription tier; without it, the settings' default
              --tokens FILE         tokens from elsewhere instead, one a line

            Keys to renew:
              --keys FILE           one a line; without it, objects that do not exist
              --keys-per-request N  1…100; 1

            Results:
              --fail-if BAR         fails where a step has more (or less) than BAR says, or where a step has no request that
                                    it is about; may be given several times, or with commas: p50>9ms, p99.9>1s, max>2s,
                                    mean>5ms, errors>0.1%, errors>10, throughput<900, and for one route renew:p99>80ms
              --find-knee           doubles the rate until a bar is broken, then looks between for the highest that keeps
                                    the bars, until it was shown three times; without --fail-if the bars are p99>100ms and
                                    errors>0.1%, which is added where --fail-if limits no errors; a run takes 10s; ends at
                                    the first 429, which is a limit and no knee
              --json FILE           writes the report for programs; - for standard output
              --html FILE           writes it as one page with plots, which needs no network
              --listen ADDRESS      where workers of this machine listen, as given to serve: their CPU and memory are shown
              --workers N           how many there are, for a %d in the address; 1

            Exit status: 0 done, and all bars are met. 1 a bar was broken or not measured, there was no response at all, or no knee.
            2 the command line was not understood, or a file of --json or --html cannot be written. 3 the numbers are not valid,
            since the generator was late or its connections were all busy, the run was stopped, or the report could not be
            written.

            Examples:
              cloakroom load --settings cloakroom.json5 --rate 100 http://localhost:8080
              cloakroom load --settings cloakroom.json5 --mix vend=70,renew=20,upload=10 --users 1000 --devices 2 \\
                --rate 100,200,400 --ramp 10s --duration 1m --fail-if 'p99>50ms' --fail-if 'errors>0.1%' \\
                --json load.json --yes-load api.example.com https://api.example.com
              cloakroom load --settings cloakroom.json5 --find-knee --rate 200 --users 1000 --devices 4 --warm-up 5s \\
                --fail-if 'p99>20ms' http://localhost:8080
              cloakroom load --mix health --rate 2000 unix:/run/cloakroom/worker-1.sock
            """
}

extension LoadOptions {
    fileprivate var origin: String {
        switch address {
        case .http(let origin, _): origin
        case .fastCGI: ""
        }
    }
}
