import CloakroomFastCGI
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom doctor`
enum DoctorCommand: Command {
    static let syntax = CommandSyntax(
        "doctor", "check a deployment: what was found, why it matters, what to do",
        values: [
            "settings": .file, "url": .text, "ca": .file, "only": checks, "skip": checks, "listen": .text,
            "workers": .text, "upstream": .file, "timeout-seconds": .text,
        ],
        flags: ["json", "strict", "read-only"])
    private static let checks = CommandSyntax.Value.choice { CheckName.allCases.map(\.rawValue) }

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let files = [options.values["settings"]].compactMap(\.self) + options.operands
        guard files.count == 1, let file = files.first else { throw .usage("doctor takes --settings FILE") }
        let seconds = try options.number("timeout-seconds", 1...600, default: 20)
        if let url = options.values["url"], !url.hasPrefix("http://"), !url.hasPrefix("https://") {
            throw .usage("--url takes a URL of http or https")
        }
        let sockets: [ListenAddress]
        do throws(ListenPattern.PatternError) { sockets = try Self.sockets(options) } catch {
            throw .usage("--listen and --workers take what serve takes")
        }
        let upstream = try upstream(options)
        let checks = try checks(options)
        let report = report(
            file, checks, commands(file, options),
            DoctorRun.DoctorOptions(
                url: options.values["url"], certificateAuthorities: options.values["ca"], sockets: sockets,
                upstream: upstream, isReadOnly: options.flags.contains("read-only"), limit: .seconds(seconds)))
        Output.print(options.flags.contains("json") ? report.json : report.table)
        return report.isFine(strict: options.flags.contains("strict")) ? .success : .failure
    }

    /// As `serve` has them; none without `--listen`.
    private static func sockets(_ options: Options) throws(ListenPattern.PatternError) -> [ListenAddress] {
        let count = try ListenPattern.count(options.values["workers"] ?? "1")
        guard let listen = options.values["listen"] else { return [] }
        return try ListenPattern(listen, workers: count).addresses
    }

    private static func upstream(_ options: Options) throws(EarlyExit) -> NginxUpstream? {
        guard let file = options.values["upstream"] else { return nil }
        guard options.values["listen"] != nil else { throw .usage("--upstream is compared with --listen") }
        guard let data = FileManager.default.contents(atPath: file) else {
            throw .failure("\(file) cannot be read: give the file of nginx that has the upstream block")
        }
        return NginxUpstream(file: file, text: String(decoding: data, as: UTF8.self))
    }

    private static func checks(_ options: Options) throws(EarlyExit) -> [CheckName] {
        let only = try names(options.values["only"])
        let skipped = try names(options.values["skip"]) ?? []
        let checks = (only ?? CheckName.allCases).filter { !skipped.contains($0) }
        guard !checks.isEmpty else { throw .usage("nothing is left to check") }
        return checks
    }

    /// - Parameter text: separated by commas; `nil` where the option is not given.
    private static func names(_ text: String?) throws(EarlyExit) -> [CheckName]? {
        guard let text else { return nil }
        var names: [CheckName] = []
        for word in text.split(separator: ",") {
            guard let name = CheckName(rawValue: String(word)) else {
                let known = CheckName.allCases.map(\.rawValue).joined(separator: ", ")
                throw .usage("there is no check \(word); there are: \(known)")
            }
            names.append(name)
        }
        return names
    }

    private static func commands(_ file: String, _ options: Options) -> NextCommands {
        let values = ["url", "ca", "listen", "workers", "upstream", "timeout-seconds"]
            .flatMap { name in options.values[name].map { ["--\(name)", $0] } ?? [] }
        let flags = options.flags.contains("read-only") ? ["--read-only"] : []
        return NextCommands(settingsFile: file, doctor: ["cloakroom", "doctor", "--settings", file] + values + flags)
    }

    private static func report(
        _ file: String, _ checks: [CheckName], _ commands: NextCommands, _ options: DoctorRun.DoctorOptions
    ) -> DoctorReport {
        do throws(SettingsErrors) {
            let findings = DoctorRun.run(try SettingsFile.load(file), checks, options).findings
            return DoctorReport(findings, commands: commands)
        } catch {
            return DoctorReport(SettingsFindings.faults(error), commands: commands)
        }
    }

    static let help =
        """
        Usage: cloakroom doctor --settings FILE [--url URL] [--listen ADDRESS] [--only NAMES | --skip NAMES]
                                [--read-only] [--strict] [--json]

        Checks a deployment against its settings: sends Redis, STS, S3, the issuers and nginx the requests that workers
        will send, and prints what it found, why it matters, what to do and the command that comes next. Run it where a
        worker runs, and as that user, so that it has the worker's own credentials.

        What it writes, it deletes again: objects below cloakroom-doctor/ (where the canaries are) and in the folders of
        two invented users, cloakroom-doctor-1 and cloakroom-doctor-10; one key of Redis that ends by itself within a
        second. On a bucket with versions, what was deleted leaves a delete marker. Sessions of the role are
        requested, as for a user. --read-only leaves all of that out but the sessions.

        Checks:

        """
        + CheckName.allCases.map {
            "  " + $0.rawValue + String(repeating: " ", count: 11 - $0.rawValue.count) + $0.about
        }
        .joined(separator: "\n") + """


            Options:
              --settings FILE      the settings file of the workers
              --url URL            where nginx listens, such as https://api.example.com; without it nginx is not checked
              --ca FILE            PEM file of whom to trust for --url; without it, whom the system trusts
              --listen ADDRESS     where the workers listen, as given to serve; without it they are not asked themselves
              --workers N          how many there are, for a %d in the address; 1
              --upstream FILE      nginx's file with the upstream block, upstream.conf: whether it names these workers
              --only NAMES         these checks, separated by commas
              --skip NAMES         all but these
              --read-only          writes nothing to S3 and Redis
              --timeout-seconds N  for each check, 1…600; 20
              --strict             warnings fail, too
              --json               for programs

            Exit status: 0 fine, 1 something has to be done, 2 the command line was not understood.

            Examples:
              cloakroom doctor --settings cloakroom.json5 --url https://api.example.com
              cloakroom doctor --settings cloakroom.json5 --workers 4 --listen 'unix:/run/cloakroom/worker-%d.sock' \\
                --upstream /etc/nginx/cloakroom/upstream.conf
              cloakroom doctor --settings cloakroom.json5 --read-only --skip front
              cloakroom doctor --settings cloakroom.json5 --only redis,keys --strict --json | jq '.findings[]'
            """
}
