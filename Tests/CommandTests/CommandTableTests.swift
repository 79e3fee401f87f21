import Testing

@testable import CloakroomCommand

struct CommandTableTests {
    @Test func `has each command once`() {
        let names = CommandTable.syntaxes.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(CommandTable.entries.map(\.name).count == Set(CommandTable.syntaxes.map { $0.words[0] }).count)
        #expect(CommandTable.entries.flatMap { $0.commands.map { $0.syntax.name } } == names)
    }

    @Test func `each command is found by its words`() {
        for command in CommandTable.commands {
            let words = command.syntax.words
            let rest = ["--json", "a", command.syntax.name]
            guard case .command(let found, rest) = CommandLineTool.request(words + rest) else {
                Issue.record("\(command.syntax.name) is not found")
                continue
            }
            #expect(ObjectIdentifier(found) == ObjectIdentifier(command), "\(command.syntax.name) is another")
        }
    }

    @Test func `each command is in the help that it names`() {
        for command in CommandTable.commands {
            let name = command.syntax.name
            #expect(command.help.hasPrefix("Usage: cloakroom \(command.helpName) "), "\(name)")
            guard command.helpName != name else { continue }
            #expect(command.helpName == command.syntax.words[0], "\(name)")
            #expect(command.help.contains("\n  \(command.syntax.words[1]) "), "\(name)")
        }
    }

    @Test func `the help of a group has its commands with their summaries`() {
        for entry in CommandTable.entries where entry.subcommands.count > 1 {
            guard case .text(let help) = CommandLineTool.request([entry.name, "--help"]) else {
                Issue.record("\(entry.name) has no help")
                continue
            }
            #expect(help.hasPrefix("Usage: cloakroom \(entry.name) "))
            for command in entry.subcommands { #expect(help.contains("\n  \(command.words[1]) ")) }
        }
        guard case .text(let help) = CommandLineTool.request(["policy", "-h", "more"]) else {
            Issue.record("policy has no help")
            return
        }
        #expect(
            help == """
                Usage: cloakroom policy show|test …

                What credentials allow, without asking AWS.

                Commands:
                  show  the policy of one user, its size, and what it says in plain words
                  test  test the scopes with own and other users' objects

                Examples:
                  cloakroom policy show --user u_1 cloakroom.json5
                  cloakroom policy test cloakroom.json5
                """)
        guard case .text(AuditVerify.help) = CommandLineTool.request(["audit", "--help"]) else {
            Issue.record("a group of one command has another help")
            return
        }
    }

    @Test(arguments: [
        ([], "a command is missing", "cloakroom --help"),
        (["frob", "verify"], "there is no command frob", "cloakroom --help"),
        (["audit"], "audit has one command, verify", "cloakroom audit verify --help"),
        (["policy", "sho"], "policy has two commands, show and test", "cloakroom policy --help"),
        (
            ["lifecycle", "--json", "show"],
            "lifecycle has the commands show, apply, suspend, verify, plan-prefixes, validate and canary",
            "cloakroom lifecycle --help"
        ),
        (
            ["user", "Get"],
            "user has the commands set, get, disable, enable, delete, list, revoke, share, unshare and shares",
            "cloakroom user --help"
        ),
    ])
    func `what names no command is told which there are`(words: [String], sentence: String, help: String) {
        guard case .unknown(sentence, see: help) = CommandLineTool.request(words) else {
            Issue.record("\(CommandLineTool.request(words))")
            return
        }
    }

    @Test func `hides only options that there are`() {
        for command in CommandTable.syntaxes {
            #expect(command.hidden.isSubset(of: command.values.keys), "\(command.name)")
            #expect(command.flags.isDisjoint(with: command.values.keys), "\(command.name)")
        }
    }

    @Test func `lists the commands within 80 columns`() {
        let lines = CommandTable.help.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 80 })
        #expect(
            lines.filter { $0.hasPrefix("  audit") || $0.hasPrefix("  renew") } == [
                "  audit verify  find what is missing from the audit, or was changed in it",
                "  renew         renew objects of a list, or those older than an age",
            ])
        #expect(
            CommandTable.help.contains(
                """
                  lifecycle     the bucket's rules that let objects expire: show, apply,
                                suspend, verify, plan-prefixes, validate, canary
                """))
    }
}
