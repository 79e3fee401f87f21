#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import Loop

/// The folder where every worker of a host keeps its row; whichever is asked adds them all up.
@LoopActor
package struct MetricsFolder {
    private let path: String

    package init(path: String) { self.path = path }

    /// The row of one worker. A worker that takes the place of another goes on in its row, so nothing counts down.
    ///
    /// - Parameter worker: its place, such as the socket it listens on; made into a file name.
    package func metrics(worker: String) throws(SystemError) -> Metrics {
        let layout = MetricsLayout()
        let name = String(worker.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let file = "\(path)/\(name)\(Self.suffix(layout))"
        return Metrics(layout: layout, row: try MappedCounters(path: file, count: layout.count))
    }

    /// The rows of all workers with the same layout, added up.
    func sums(of layout: MetricsLayout) -> (values: [UInt64], workers: Int) {
        let suffix = Self.suffix(layout)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let rows = names.filter { $0.hasSuffix(suffix) }.compactMap { name in
            try? MappedCounters(path: "\(path)/\(name)", count: layout.count)
        }
        let values = (0..<layout.count).map { index in rows.reduce(0) { $0 &+ $1[index] } }
        return (values, rows.count)
    }

    private static func suffix(_ layout: MetricsLayout) -> String { "-\(layout.fingerprint).counters" }
}
