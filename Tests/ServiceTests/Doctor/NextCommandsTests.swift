import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct NextCommandsTests {
    private static let commands = NextCommands(
        settingsFile: "/etc/my file.json5",
        doctor: ["cloakroom", "doctor", "--settings", "/etc/my file.json5", "--url", "https://api.example.com"])

    @Test func `each finding that is wrong names the next command`() {
        let again = "cloakroom doctor --settings '/etc/my file.json5' --url https://api.example.com --only"
        for (finding, next) in [
            (CheckName.nginx.warning("a", why: "b", advice: "c"), "\(again) front"),
            (CheckName.keys.error("a", why: "b", advice: "c"), "\(again) keys"),
            (
                CheckName.settings.error("a", why: "b", advice: "c", command: "cloakroom check FILE"),
                "cloakroom check '/etc/my file.json5'"
            ), (CheckName.redis.ok("a"), nil), (CheckName.renewal.skipped("a", advice: "b"), nil),
        ] as [(Finding, String?)] {
            #expect(Self.commands.next(finding) == next)
        }
    }

    @Test func `the command stands below the advice, on one line, and in the JSON`() {
        let report = DoctorReport([CheckName.keys.error("a", why: "b", advice: "c")], commands: Self.commands)
        let command = "cloakroom doctor --settings '/etc/my file.json5' --url https://api.example.com --only keys"
        #expect(
            report.table == """
                keys      error   a
                                    why: b
                                    do:  c
                                    next: \(command)

                1 error
                """)
        #expect(report.json.contains(#""advice":"c","next":"\#(command)""#))
    }

    @Test func `quotes what a shell would read otherwise`() {
        let commands = NextCommands(settingsFile: "it's $HOME", doctor: [])
        let finding = CheckName.settings.error("a", why: "b", advice: "c", command: "cloakroom check FILE")
        #expect(commands.next(finding) == #"cloakroom check 'it'\''s $HOME'"#)
    }
}
