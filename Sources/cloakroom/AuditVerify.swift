import Glibc
import CloakroomLoop
import CloakroomOperations
import CloakroomRedis
import CloakroomServer

/// `cloakroom audit verify`
enum AuditVerify: Command {
    static let syntax = CommandSyntax(
        "audit verify", "find what is missing from the audit, or was changed in it", values: ["stream": .text],
        flags: ["continued"], repeats: true)

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        // Of a stream the oldest lines are trimmed.
        let isContinued = options.flags.contains("continued") || options.values["stream"] != nil
        var verifier = AuditVerifier(isContinued: isContinued) { Output.print("\($0)") }
        do {
            if let stream = options.values["stream"] {
                let file = try options.settingsFile(usage: "with --stream, audit verify takes one settings file")
                try AuditStreamReader.read(stream, settings: SettingsFile.require(file), into: &verifier)
            } else {
                guard !options.operands.isEmpty else { throw EarlyExit.usage("audit verify takes audit files") }
                for path in options.operands { try AuditFileReader(path: path).read(into: &verifier) }
            }
        } catch let end as EarlyExit {
            throw end
        } catch {
            throw .failure("\(error)")
        }
        verifier.finish()
        Output.print(table(verifier))
        // An emptied file, or another one, has no fault.
        guard !verifier.chains.isEmpty else { return Output.fail("there is no line of an audit in it") }
        return verifier.faultCount == 0 ? .success : .failure
    }

    private static func table(_ verifier: AuditVerifier) -> String {
        let head = ["chain", "worker", "first", "last", "lines", "faults", "digest of the last line"]
        let rows =
            [head]
            + verifier.chains.map {
                ["\($0.id)", $0.worker ?? "?", "\($0.first)", "\($0.last)", "\($0.lines)", "\($0.faults)", $0.digest]
            }
        let widths = head.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            zip(row, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }.joined(separator: "  ")
        }
        let faults = verifier.faultCount == 1 ? "1 fault" : "\(verifier.faultCount) faults"
        var summary = "\(faults) in \(verifier.chains.count) chains"
        if verifier.pieces > 0 { summary += "; \(verifier.pieces) lines without an end (nothing was issued for them)" }
        if verifier.otherLines > 0 { summary += "; \(verifier.otherLines) lines of something else" }
        return
            (lines + [
                summary,
                "Lines cut off after the last of a chain leave no trace here: compare with a digest kept elsewhere.",
            ])
            .joined(separator: "\n")
    }

    static let help = """
        Usage: cloakroom audit verify [--continued] FILE…
               cloakroom audit verify [--continued] -
               cloakroom audit verify --stream NAME SETTINGS

        Follows the chains of audit lines, each of which holds the SHA-256 of the line before it of the same worker, and
        tells which lines were changed, are missing, stand in the wrong place or are there twice; then one line a chain.
        Files that were rotated are given oldest first; - is standard input, for files that were compressed.

        A chain cannot show that its last lines are gone, nor that a writer of the file wrote all of it anew. The last
        digests, kept somewhere else, do: an older line with such a digest must still be there.

        Options:
          --continued    chains may begin before the first file: older ones are kept elsewhere, or are gone by intent
          --stream NAME  read the stream `audit.stream` of the Redis that the settings name

        Exit status: 0 no fault, 1 a fault, no line of an audit, or something could not be read, 2 the command line was not understood.

        Examples:
          cloakroom audit verify /var/log/cloakroom/audit.log.1 /var/log/cloakroom/audit.log
          cloakroom audit verify --continued /var/log/cloakroom/audit.log
          zcat -f /var/log/cloakroom/audit.log.2.gz /var/log/cloakroom/audit.log.1 | cloakroom audit verify --continued -
          cloakroom audit verify --stream audit /etc/cloakroom/cloakroom.json5
        """
}
