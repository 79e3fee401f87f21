import Testing

@testable import CloakroomCommand

struct CommandTableTests {
    @Test func `has each command once`() {
        let names = CommandTable.commands.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(CommandTable.entries.map(\.name).count == Set(CommandTable.commands.map { $0.words[0] }).count)
    }

    @Test func `hides only options that there are`() {
        for command in CommandTable.commands {
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
                  lifecycle     the bucket's rules that let objects expire: show, apply, verify,
                                plan-prefixes, validate, canary
                """))
    }

    @Test func `options are read as the table has them`() throws {
        let options = try Options(
            ["--listen", "a", "settings", "--workers=2", "--heartbeat", "5"], of: .serve)
        #expect(options.values == ["listen": "a", "workers": "2", "heartbeat": "5"])
        #expect(options.operands == ["settings"])
        #expect(throws: Options.ParseError.self) { try Options(["--strict"], of: .serve) }
    }
}
