import CloakroomServer
import Testing

@testable import CloakroomCommand

struct OptionsTests {
    private func options(_ words: String...) throws -> Options { try Options(words, of: Self.syntax) }
    private static let syntax = CommandSyntax("check all", "", values: ["limit": .text, "requests-per-second": .text])

    @Test func `are read as the syntax of the command has them`() throws {
        let options = try Options(
            ["--listen", "a", "settings", "--workers=2", "--heartbeat", "5"], of: ServeCommand.syntax)
        #expect(options.values == ["listen": "a", "workers": "2", "heartbeat": "5"])
        #expect(options.operands == ["settings"])
        #expect(throws: Options.ParseError.self) { try Options(["--strict"], of: ServeCommand.syntax) }
    }

    @Test(arguments: [("1", 1), ("600", 600), ("0", nil), ("601", nil), ("", nil), ("1.5", nil)] as [(String, Int?)])
    func `a number is within its range`(text: String, expected: Int?) throws {
        let options = try options("--limit", text)
        guard let expected else {
            let error = #expect(throws: EarlyExit.self) { try options.number("limit", 1...600, default: 20) }
            guard case .usage("--limit takes 1…600") = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            return
        }
        #expect(try options.number("limit", 1...600, default: 20) == expected)
        #expect(try self.options().number("limit", 1...600, default: 20) == 20)
    }

    @Test func `requests are a tenth of a second apart unless told otherwise`() throws {
        #expect(try options().requestInterval() == .milliseconds(100))
        #expect(try options("--requests-per-second", "1000").requestInterval() == .milliseconds(1))
        #expect(throws: EarlyExit.self) { try options("--requests-per-second", "1001").requestInterval() }
    }

    @Test(arguments: [[], ["a", "b"]])
    func `a command that takes one settings file says so`(words: [String]) throws {
        let options = try Options(words, of: Self.syntax)
        let error = #expect(throws: EarlyExit.self) { try SettingsCommandLine(options) }
        guard case .usage("check all takes one settings file") = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `settings that cannot be read end a command`() throws {
        let options = try options("/no/such/cloakroom.json5")
        let error = #expect(throws: EarlyExit.self) { try SettingsCommandLine(options) }
        guard case .failure(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.hasPrefix("/no/such/cloakroom.json5 has faults:\n"))
    }
}
