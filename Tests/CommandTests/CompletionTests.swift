import CloakroomKitTestSupport
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomCommand

@Suite(.serialized) struct CompletionTests {
    @Test(arguments: [
        (["li"], ["lifecycle"]),
        (["--v"], ["--version"]),
        (["lifecycle", "v"], ["verify", "validate"]),
        (["user", "en"], ["enable"]),
        (["lifecycle", "apply", "--d"], ["--delete-existing", "--dry-run"]),
        (["serve", "--li"], ["--listen"]),
        (["status", "-"], ["--ca", "--help", "--json", "--listen", "--url", "--watch"]),
        (["doctor", "--only", "re"], ["redis"]),
        (["doctor", "--json", "--only", "=", "re"], ["redis"]),
        (["doctor", "--skip", "="], CommandTable.checkNames),
        (["doctor", "--url", ""], []),
        (["settings", "limits.vend."], CommandTable.keys(under: "limits.vend.")),
        (["completions", "z"], ["zsh"]),
        (["no-such", "x"], []),
    ])
    func `bash completes commands, options and values`(line: [String], expected: [String]) async throws {
        #expect(try await completed(line) == expected)
    }

    @Test(arguments: [
        ["check", "FILE"],
        ["check", "--strict", "FILE"],
        ["check", "--former", "FILE", "FILE"],
        ["user", "set", "u_1", "--tier", "pro", "FILE"],
        ["user", "set", "u_1", "--tier", "=", "pro", "FILE"],
        ["serve", "--listen", "unix", ":", "/run/w.sock", "FILE"],
        ["doctor", "--settings", "FILE"],
        ["doctor", "--ca", "=", "FILE"],
        ["audit", "verify", "first", "second", "third", "FILE"],
        ["check", "--", "FILE"],
    ])
    func `bash completes files where a command takes them`(line: [String]) async throws {
        let folder = try TemporaryFolder()
        let file = folder["set tings.json5"]
        #expect(FileManager.default.createFile(atPath: file, contents: nil))
        #expect(try await completed(line.map { $0 == "FILE" ? folder["set"] : $0 }) == [file])
    }

    @Test(arguments: [
        ["user", "set", "FILE"], ["serve", "--listen", "FILE"], ["check", "settings", "FILE"], ["status", "FILE"],
        ["init", "FILE"],
    ])
    func `bash completes no files elsewhere`(line: [String]) async throws {
        let folder = try TemporaryFolder()
        #expect(FileManager.default.createFile(atPath: folder["settings"], contents: nil))
        #expect(try await completed(line.map { $0 == "FILE" ? folder["set"] : $0 }) == [])
    }

    @Test func `no shell is offered what is for the program's own use`() {
        for script in [BashCompletion.script, ZshCompletion.script, FishCompletion.script] {
            #expect(script.contains("listen"))
            #expect(!script.contains("heartbeat") && !script.contains("lifeline") && !script.contains("resume"))
        }
    }

    /// What bash offers for the last of the words, as it splits them.
    private func completed(_ words: [String]) async throws -> [String] {
        let script = """
            set -u
            source <(printf '%s\\n' "$1")
            shift
            COMP_WORDS=(cloakroom "$@")
            COMP_CWORD=$#
            _cloakroom
            ((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
            """
        let run = try await ProgramRun(
            URL(fileURLWithPath: "/bin/bash"), ["-c", script, "bash", BashCompletion.script] + words,
            includesErrors: false)
        #expect(run.end == .exited(0))
        return run.output.split(separator: "\n").map { String($0) }
    }
}

extension CommandTable {
    fileprivate static var checkNames: [String] {
        guard case .choice(let names)? = DoctorCommand.syntax.values["skip"] else { return [] }
        return names()
    }

    fileprivate static func keys(under prefix: String) -> [String] {
        guard case .choice(let keys)? = SettingsCommand.syntax.operands.first else { return [] }
        return keys().filter { $0.hasPrefix(prefix) }
    }
}
