import CloakroomConnections
import CloakroomCurl
import CloakroomFastCGI
import CloakroomHTTP
import CloakroomJSON
import CloakroomLoop
import CloakroomOperations
import CloakroomWire
import Glibc

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom status`
enum StatusCommand: Command {
    static let syntax = CommandSyntax(
        "status", "what running workers do, and whether they run the program that is installed",
        values: ["listen": .text, "url": .text, "ca": .file], flags: ["json", "watch"], operands: [])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        guard options.operands.isEmpty, (options.values["listen"] == nil) != (options.values["url"] == nil) else {
            throw .usage("status takes --listen as serve got it, or --url")
        }
        let source: StatusSource
        if let text = options.values["listen"] {
            guard let listen = try? ListenPattern(text) else { throw .usage("status takes --listen as serve got it") }
            source = .sockets(listen)
        } else {
            source = .front(try front(options), options.values["ca"])
        }
        let (isJSON, watches) = (options.flags.contains("json"), options.flags.contains("watch"))
        guard watches else { return .onLoop { await StatusView(source, isJSON: isJSON, isRepeated: false).show() } }
        signal(SIGPIPE, SIG_IGN)
        Signals.block([SIGINT, SIGTERM])
        return .onLoop { await StatusView(source, isJSON: isJSON, isRepeated: true).watch() }
    }

    /// Without a slash at its end.
    private static func front(_ options: Options) throws(EarlyExit) -> String {
        var url = options.values["url"] ?? ""
        while url.hasSuffix("/") { url.removeLast() }
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
            throw .usage("--url takes https://HOST[:PORT] or http://…")
        }
        return url
    }

    static let help = """
        Usage: cloakroom status --listen ADDRESS [--watch] [--json]
               cloakroom status --url URL [--ca FILE] [--watch] [--json]

        Shows what the workers did in the last minute and how they are, as /status says it: requests by route, Redis, STS and
        S3, credentials, queues, memory, and the last warnings and errors. With --listen it sends the request over a worker's
        socket, and shows the supervisor of `cloakroom serve --workers` as well, whether that runs the program that lies at
        its path now (after an upgrade and SIGHUP only the workers do), whether the workers run another program than the
        supervisor (after SIGUSR2 and a reload that failed), and which have the settings of a reload that failed at others.
        Run it as the supervisor's user; for sockets root will do. For ports the supervisor tells of itself in its folder
        for temporary files: TMPDIR must be as for the supervisor, and a systemd unit with PrivateTmp hides it. With --url
        nginx is asked, from a network that it lets in (local-networks.conf).

        Options:
          --listen ADDRESS  as serve got it, with its %d
          --url URL         of nginx, such as https://api.example.com
          --ca FILE         PEM file of whom to trust; without it, whom the system trusts
          --watch           once a second, in place of what was shown before, until Ctrl-C
          --json            for programs: {"supervisor": …, "status": …}, either null where it is not known; with --watch
                            a line each second

        Exit status: 0 all workers are up, none has the settings of a reload that failed at others, and they and the
        supervisor run the installed program, 1 otherwise or without a response, 2 the command line was not understood.
        With --watch: as it was last. With --url: 0 a worker responds, since how many there should be only the supervisor
        knows.

        Examples:
          cloakroom status --listen 'unix:/run/cloakroom/worker-%d.sock'
          cloakroom status --listen 'unix:/run/cloakroom/worker-%d.sock' --watch
          cloakroom status --url https://api.example.com --json | jq .status.all
        """
}

/// Where a status comes from.
enum StatusSource: Sendable {
    case sockets(ListenPattern)
    /// nginx, by its URL, and a PEM file of whom to trust.
    case front(String, String?)
}

/// What the command knows of a supervisor and its workers, once or once a second.
@LoopActor
private struct StatusView {
    private let source: StatusSource
    private let isJSON: Bool
    /// Whether others follow.
    private let isRepeated: Bool
    private static let timeout: Duration = .seconds(3)

    init(_ source: StatusSource, isJSON: Bool, isRepeated: Bool) {
        (self.source, self.isJSON, self.isRepeated) = (source, isJSON, isRepeated)
    }

    func watch() async -> ExitStatus {
        let stop = StopRequest()
        let signals = try? Signals([SIGINT, SIGTERM]) { _ in stop.request() }
        defer { withExtendedLifetime(signals) {} }
        var last = ExitStatus.failure
        let watching = LoopActor.spawn {
            while !Task.isCancelled, !stop.isRequested {
                last = await show()
                try? await LoopActor.sleep(for: .seconds(1))
            }
        }
        await stop.wait()
        watching.cancel()
        return last
    }

    func show() async -> ExitStatus {
        let supervisor = SupervisorView.of(source)
        let answer = await status(supervisor)
        let isGood = supervisor.isGood && (try? answer.get()) != nil
        if isJSON {
            let whole: JSON = [
                "supervisor": supervisor.status.map(\.json) ?? .null, "status": (try? answer.get())?.json ?? .null,
            ]
            let printed = Output.print(isRepeated ? whole.text : whole.indented)
            return isGood ? printed : .failure
        }
        var text: [String] = []
        if let status = supervisor.status { text.append(status.text) }
        switch answer {
        case .success(let status): text.append(status.text)
        case .failure(let failure): text.append("cloakroom: \(supervisor.fault ?? failure.text)")
        }
        // ECMA-48: to the first place, and what is below it away.
        if isRepeated, isatty(STDOUT_FILENO) == 1 {
            Output.print("\u{1B}[H\u{1B}[2J" + text.joined(separator: "\n\n"))
        } else if case .failure = answer, text.count == 1 {
            return Output.fail(String(text[0].dropFirst("cloakroom: ".count)))
        } else {
            Output.print(text.joined(separator: "\n\n"))
        }
        return isGood ? .success : .failure
    }

    struct Failure: Error {
        let text: String
    }

    /// Of the first worker that responds.
    private func status(_ supervisor: SupervisorView) async -> Result<StatusText, Failure> {
        var failure = Failure(text: "no worker is there to ask")
        switch source {
        case .front(let url, let authorities):
            return await decoded(from: url, front(url, authorities))
        case .sockets(let listen):
            let addresses = supervisor.status?.workers.compactMap { ListenAddress($0.listen) } ?? listen.addresses
            for address in addresses {
                switch await decoded(from: address.description, worker(address)) {
                case .success(let status): return .success(status)
                case .failure(let error): failure = error
                }
            }
            return .failure(failure)
        }
    }

    private func worker(_ address: ListenAddress) async -> Result<UpstreamResponse, Failure> {
        do throws(ExchangeError) {
            return .success(
                try await FastCGIClient(address).send(
                    UpstreamRequest(method: Route.status.method, origin: "", target: Route.status.rawValue),
                    timeout: Self.timeout))
        } catch {
            return .failure(Failure(text: "no response over \(address): \(error.words); is a worker running there?"))
        }
    }

    private func front(_ url: String, _ authorities: String?) async -> Result<UpstreamResponse, Failure> {
        var options = LoopCurlTransport.Options()
        options.certificateAuthorities = authorities
        do throws(TransportError) {
            return .success(
                try await LoopCurlTransport(options: options).send(
                    UpstreamRequest(method: Route.status.method, url: url + Route.status.rawValue),
                    timeout: Self.timeout))
        } catch {
            return .failure(Failure(text: "no response of \(url): \(error)"))
        }
    }

    private func decoded(
        from place: String, _ response: Result<UpstreamResponse, Failure>
    ) -> Result<StatusText, Failure> {
        response.flatMap { response in
            switch (response.status, StatusText(response.body)) {
            case (200, .some(let status)): return .success(status)
            case (403, _):
                return .failure(
                    Failure(text: "\(place) lets only local networks see /status; run this from one of them"))
            case (404, _): return .failure(Failure(text: "the workers at \(place) are of a version without /status"))
            case (let status, _): return .failure(Failure(text: "\(place) responds \(status), which is no status"))
            }
        }
    }
}

/// The supervisor, as far as it tells of itself.
private struct SupervisorView {
    var status: SupervisorStatus?
    /// Why there is none, or none that counts.
    var fault: String?

    /// A single worker has none, and of nginx nothing is known.
    var isGood: Bool {
        fault == nil && status?.isGood ?? true
    }

    static func of(_ source: StatusSource) -> Self {
        guard case .sockets(let listen) = source else { return Self() }
        let file = SupervisorFolder.statusFile(listen: listen)
        guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: file)), bytes.count <= 1 << 16 else {
            let fault =
                "no supervisor has told of itself in \(file); is it running, and are you its user, with its TMPDIR?"
            return Self(fault: listen.text == listen.name ? nil : fault)
        }
        guard let status = SupervisorStatus(Array(bytes)) else {
            return Self(fault: "\(file) is of another version; run the cloakroom that the supervisor runs")
        }
        // EPERM: there is such a process, of another user.
        guard kill(status.process, 0) == 0 || errno == EPERM else {
            return Self(fault: "the supervisor, process \(status.process), is gone; start cloakroom serve --workers")
        }
        return Self(status: status)
    }
}

extension SupervisorStatus {
    var text: String {
        let supervisor = "supervisor  process \(process), \(program)"
        let workers = workers.map { worker in
            let process = worker.process.map { "process \($0)" } ?? "not up yet"
            let program = worker.runsAnother ? ", another program than the supervisor's" : ""
            let settings = worker.isOfFailedReload ? ", with the settings of a reload that failed" : ""
            return "worker      \(process), \(worker.listen)\(program)\(settings)"
        }
        let advice = """
            The supervisor runs the former program; another lies at its path now. To change that without losing a request:
              kill -USR2 \(process)
            """
        let reload = """
            Workers run another program than the supervisor, as after a reload that failed. To replace them without losing a
            request:
              kill -HUP \(process)
            """
        let again = """
            The last reload failed at a worker, as the log says; those before it have its settings, the others do not. Once
            that is corrected:
              kill -HUP \(process)
            """
        var lines = [supervisor] + workers
        if isOutdated { lines.append(advice) }
        if isPartlyReloaded {
            lines.append(again)
        } else if hasOtherWorkers {
            lines.append(reload)
        }
        return lines.joined(separator: "\n")
    }

    fileprivate var json: JSON {
        [
            "process": .number(Double(process)), "program": .string(program), "outdated": .bool(isOutdated),
            "workers": .array(
                workers.map { worker in
                    [
                        "listen": .string(worker.listen),
                        "process": worker.process.map { .number(Double($0)) } ?? .null,
                        "anotherProgram": .bool(worker.runsAnother),
                        "failedReload": .bool(worker.isOfFailedReload),
                    ]
                }),
        ]
    }
}

extension ExchangeError {
    fileprivate var words: String {
        switch self {
        case .unreachable(let error): "\(error)"
        case .timeout: "it took too long"
        case .interrupted: "the connection ended"
        case .malformed, .tooLarge: "it is no response of a worker"
        }
    }
}
