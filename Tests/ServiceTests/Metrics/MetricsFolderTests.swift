import Foundation
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct MetricsFolderTests {
    /// A row as a worker of another version leaves it: some of our series in other places, and one we do not know.
    @LoopActor private func leaveForeignRow(in folder: TemporaryFolder, _ counted: [UInt64]) throws {
        let ours = MetricsLayout().families.flatMap(\.series)
        let dropped = try #require(ours.first { $0.name == "cloakroom_log_lines_dropped_total" })
        let gauge = try #require(ours.first { $0.name == "cloakroom_renewal_copies_allowed" })
        let text = "0 cloakroom_former_total []\n1 \(dropped.title)\n2 \(gauge.title)"
        let fingerprint = MetricsLayout.fingerprint(of: text)
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder["\(fingerprint).layout"]))
        let file = folder["unix--w-1-sock-\(fingerprint).counters"]
        // It would keep its length.
        try? FileManager.default.removeItem(atPath: file)
        let row = try MappedCounters(path: file, count: counted.count)
        for (place, count) in counted.enumerated() { row.add(count, at: place) }
    }

    /// Workers of the version before find their series by these.
    @Test func `titles series as Swift describes their labels`() {
        var names = MetricNames()
        names.roles = ["main", "of \"b\""]
        let series = MetricsLayout(names).families.flatMap(\.series)
        #expect(series.contains { $0.labels.count > 1 } && series.contains { $0.labels.isEmpty })
        #expect(series.map(\.title) == series.map { "\($0.name) \($0.labels)" })
    }

    @Test @LoopActor func `rows of all workers are added up`() throws {
        let folder = try TemporaryFolder()
        let (one, two) = (MetricsFolder(path: folder.path), MetricsFolder(path: folder.path))
        let first = try one.metrics(worker: "unix:/w-1.sock")
        let second = try two.metrics(worker: "unix:/w-2.sock")
        second.linesDropped(2)
        first.linesDropped(3)
        // A successor goes on in the row.
        try one.metrics(worker: "unix:/w-1.sock").linesDropped(4)
        let sums = one.sums(of: first.layout)
        withExtendedLifetime((first, second)) {}
        #expect(sums.workers == 2)
        #expect(sums.values[first.layout.droppedLines.index] == 9)
        #expect(sums.values[first.layout.starts.index] == 3)
    }

    @Test @LoopActor func `of a worker that has ended the counters stay, and no gauge`() throws {
        let folder = try TemporaryFolder()
        let metrics = MetricsFolder(path: folder.path)
        let first = try metrics.metrics(worker: "unix:/w-1.sock")
        first.allowsCopies(5)
        var second: Metrics? = try metrics.metrics(worker: "unix:/w-2.sock")
        second?.allowsCopies(7)
        second?.linesDropped(2)
        func sums() -> (copies: UInt64, lines: UInt64, workers: Int) {
            let (values, workers) = metrics.sums(of: first.layout)
            return (
                values[first.layout.allowedCopies.index], values[first.layout.droppedLines.index], workers
            )
        }
        #expect(sums() == (12, 2, 2))
        second = nil
        #expect(sums() == (5, 2, 1))
        // Its successor goes on with the counters alone.
        second = try metrics.metrics(worker: "unix:/w-2.sock")
        #expect(sums() == (5, 2, 2))
        second?.allowsCopies(1)
        #expect(sums() == (6, 2, 2))
        withExtendedLifetime((first, second)) {}
    }

    @Test @LoopActor func `what a worker of another version counted goes on counting, by its names`() throws {
        let folder = try TemporaryFolder()
        let metrics = MetricsFolder(path: folder.path)
        let own = try metrics.metrics(worker: "unix:/w-1.sock")
        own.linesDropped(1)
        own.allowsCopies(5)
        try leaveForeignRow(in: folder, [100, 20, 7])
        let sums = metrics.sums(of: own.layout)
        #expect(sums.values[own.layout.droppedLines.index] == 21)
        // 21 lines, 5 copies and one start; nothing that we do not know.
        let total: UInt64 = sums.values.reduce(0, +)
        #expect(total == 27)
        #expect(sums.workers == 1, "the two rows are one worker's place")
        withExtendedLifetime(own) {}
    }

    @Test @LoopActor func `a row without a true description is left out`() throws {
        let folder = try TemporaryFolder()
        let metrics = MetricsFolder(path: folder.path)
        let own = try metrics.metrics(worker: "unix:/w-1.sock")
        try leaveForeignRow(in: folder, [100, 20, 7])
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where name.hasSuffix(".layout") && !name.hasPrefix(own.layout.fingerprint) {
            try Data("1 cloakroom_log_lines_dropped_total []".utf8).write(to: URL(fileURLWithPath: folder[name]))
        }
        #expect(metrics.sums(of: own.layout).values[own.layout.droppedLines.index] == 0)
        // A row that is shorter than its layout says.
        try leaveForeignRow(in: folder, [100])
        #expect(metrics.sums(of: own.layout).values[own.layout.droppedLines.index] == 0)
    }
}
