import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomLoop

struct MappedReportTests {
    @Test func `what one wrote another reads whole`() throws {
        let folder = try TemporaryFolder()
        let report = try MappedReport(path: folder["a.status"], numbers: 3, textBytes: 20)
        #expect(MappedReport.read(folder["a.status"]) == nil, "nothing was written yet")
        for text in ["", "a", "12345678", "12345678901234567890"] {
            report.write([1, 2, .max], Array(text.utf8), at: 7)
            let content = try #require(MappedReport.read(folder["a.status"]))
            #expect(content.instant == 7)
            #expect(content.numbers == [1, 2, .max])
            #expect(String(decoding: content.text, as: UTF8.self) == text)
        }
        report.remove()
        #expect(MappedReport.read(folder["a.status"]) == nil)
    }

    @Test func `a file of another process is replaced, not written over`() throws {
        let folder = try TemporaryFolder()
        let former = try MappedReport(path: folder["a"], numbers: 1, textBytes: 8)
        former.write([1], [])
        let next = try MappedReport(path: folder["a"], numbers: 1, textBytes: 8)
        next.write([2], [])
        former.write([3], [])
        #expect(MappedReport.read(folder["a"])?.numbers == [2])
    }

    /// Words as a file may hold them: turn, instant, numbers, bytes of text, and what follows.
    @Test(
        arguments: [
            [], [2], [2, 0, 0, 0], [1, 0, 0, 0, 0], [2, 0, 5, 0, 0], [2, 0, 0, 9, 0], [2, 0, .max, 0, 0],
            [2, 0, 0, .max, 0], [2, 0, 1, 1, 0],
        ] as [[UInt64]])
    func `what is no report is none`(words: [UInt64]) throws {
        let folder = try TemporaryFolder()
        try words.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: folder["a"])) }
        #expect(MappedReport.read(folder["a"]) == nil)
    }

    @Test func `neither a folder, nor a link, nor what is too large is read`() throws {
        let folder = try TemporaryFolder()
        let report = try MappedReport(path: folder["a"], numbers: 1, textBytes: 8)
        report.write([1], [])
        try FileManager.default.createSymbolicLink(atPath: folder["link"], withDestinationPath: folder["a"])
        try Data(count: 1 << 20).write(to: URL(fileURLWithPath: folder["large"]))
        for path in [folder.path, folder["link"], folder["large"], folder["none"]] {
            #expect(MappedReport.read(path) == nil)
        }
    }

    @Test func `a reader never sees half of what is written`() async throws {
        let folder = try TemporaryFolder()
        let report = try MappedReport(path: folder["a"], numbers: 500, textBytes: 8)
        report.write([UInt64](repeating: 0, count: 500), [])
        let writing = Task.detached {
            for turn in 1...2000 as ClosedRange<UInt64> { report.write([UInt64](repeating: turn, count: 500), []) }
        }
        var read = 0
        for _ in 1...2000 {
            // One that is written all the time is not read at times.
            guard let numbers = MappedReport.read(folder["a"])?.numbers else { continue }
            read += 1
            #expect(Set(numbers).count == 1)
        }
        await writing.value
        #expect(read > 0)
    }
}
