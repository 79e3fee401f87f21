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

    private let subject = UsageTotals.Subject(
        location: BucketLocation(bucket: "b", endpoint: "https://s3.example", region: "r"), prefixes: [""], user: nil)

    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// The state of a scan that listed everything, and could not write the records.
    private func leaveScan() throws {
        let state = try UsageState(path: path, subject: subject, now: Self.start)
        let line = #"{"prefix":0,"objects":1,"last":true,"key":"u_1/a","bytes":{"u_1":5}}"#
        #expect(state.append(Array("\(line)\n".utf8)))
    }

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
        #expect(throws: UsageState.StateError.self) { _ = try UsageState(path: path, subject: subject) }
        try link(folder["other.lock"])
        #expect(throws: StateFile.FileError.self) { _ = try StateFile(path: folder["other"]) }
        #expect(!FileManager.default.fileExists(atPath: folder["victim"]))
    }

    @Test(arguments: [0, 3_600, 86_400] as [TimeInterval])
    func `a scan goes on until a day after its start`(later: TimeInterval) throws {
        try leaveScan()
        for _ in 0..<2 {
            let state = try UsageState(path: path, subject: subject, now: Self.start + later)
            #expect(state.totals.isComplete && state.totals.objects == 1 && state.restart == nil)
        }
    }

    @Test(
        arguments: [
            (2 * 86_400, "was started at 2027-01-15T08:00:00Z, more than a day ago"),
            (-1, "was started at 2027-01-15T08:00:00Z, later than now"),
        ] as [(TimeInterval, String)])
    func `an old scan begins anew, and says so`(later: TimeInterval, reason: String) throws {
        try leaveScan()
        for expected in [reason, nil] {
            let state = try UsageState(path: path, subject: subject, now: Self.start + later)
            #expect(state.totals == UsageTotals(subject) && state.restart == expected)
        }
    }

    @Test func `a scan of an earlier version, which tells no start, begins anew`() throws {
        try leaveScan()
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let former = text.replacing(#","started":"2027-01-15T08:00:00Z""#, with: "")
        #expect(former != text)
        try former.write(toFile: path, atomically: true, encoding: .utf8)
        let state = try UsageState(path: path, subject: subject, now: Self.start)
        #expect(state.totals == UsageTotals(subject) && state.restart == "does not say when it was started")
    }

    @Test func `a lock is released although a process that is being started shares it`() throws {
        // A duplicate shares the lock as the descriptor of a forked process does.
        func duplicate(of path: String) throws -> Int32 {
            let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
            let found = open.first {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
            }
            return fcntl(try #require(found), F_DUPFD_CLOEXEC, 3)
        }
        var file: StateFile? = try StateFile(path: path)
        let lock = try withExtendedLifetime(file) { try duplicate(of: path + ".lock") }
        file = nil
        defer { close(lock) }
        #expect(throws: Never.self) { _ = try StateFile(path: path) }

        let scan = folder["usage.state"]
        var usage: UsageState? = try UsageState(path: scan, subject: subject)
        let usageLock = try withExtendedLifetime(usage) { try duplicate(of: scan) }
        usage = nil
        defer { close(usageLock) }
        #expect(throws: Never.self) { _ = try UsageState(path: scan, subject: subject) }
    }
}
