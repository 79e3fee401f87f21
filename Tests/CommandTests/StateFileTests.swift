import CloakroomAWS
import CloakroomJSON
import CloakroomOperations
import CloakroomServer
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomCommand

struct StateFileTests {
    private let folder: TemporaryFolder
    private var path: String { folder["run.state"] }
    private var temporary: String { "\(path).\(getpid()).new" }

    init() throws { folder = try TemporaryFolder() }

    private func link(_ path: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder["victim"])
    }

    @Test func `what is written through a link stays as it was`() throws {
        try "mine".write(toFile: folder["victim"], atomically: false, encoding: .utf8)
        try link(temporary)
        try StateFile.write("state", to: path)
        #expect(try String(contentsOfFile: folder["victim"], encoding: .utf8) == "mine")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "state")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["run.state", "victim"])
    }

    @Test func `what an earlier process left behind is replaced`() throws {
        try "half".write(toFile: temporary, atomically: false, encoding: .utf8)
        let file = try StateFile(path: path)
        try file.write(["a": .number(1)])
        #expect(try file.read()?.object?["a"]?.integer == 1)
    }

    @Test func `a link in its place is neither read nor followed`() throws {
        try "{}".write(toFile: folder["victim"], atomically: false, encoding: .utf8)
        try link(path)
        #expect(throws: StateFile.FileError.self) { _ = try StateFile(path: path).read() }
        try FileManager.default.removeItem(atPath: folder["victim"])
        let subject = UsageTotals.Subject(
            location: BucketLocation(bucket: "b", endpoint: "https://s3.example", region: "r"), prefixes: [""],
            user: nil)
        #expect(throws: UsageState.StateError.self) { _ = try UsageState(path: path, subject: subject) }
        try link(folder["other.lock"])
        #expect(throws: StateFile.FileError.self) { _ = try StateFile(path: folder["other"]) }
        #expect(!FileManager.default.fileExists(atPath: folder["victim"]))
    }
}
