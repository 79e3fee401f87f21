import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomCommand

struct ReportFileTests {
    @Test func `a path that cannot be written is a mistake of the command line, with the reason`() throws {
        do {
            _ = try ReportFile(path: "/nonexistent/load.json")
            Issue.record("a file in a folder that is not there")
        } catch EarlyExit.usage(let text) {
            #expect(text == "/nonexistent/load.json cannot be written: No such file or directory")
        }
    }

    @Test func `a run whose report cannot be written sends nothing`() throws {
        let folder = try TemporaryFolder()
        for option in ["--json", "--html"] {
            let words = [
                "--mix", "health", "--duration", "100ms", "--warm-up", "0s", option, folder["none/report"],
                "unix:\(folder["none"])",
            ]
            #expect(throws: EarlyExit.self) { try LoadCommand.run(Options(words, of: LoadCommand.syntax)) }
        }
    }

    @Test func `what is in the file stays until a report takes its place`() throws {
        let folder = try TemporaryFolder()
        let path = folder["load.json"]
        try "a report of last week".write(toFile: path, atomically: false, encoding: .utf8)
        let file = try ReportFile(path: path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "a report of last week")
        #expect(file.write("{}"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "{}")
    }

    @Test func `a full disk is told of`() throws {
        #expect(try !ReportFile(path: "/dev/full").write("{}"))
    }
}
