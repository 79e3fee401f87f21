#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import CloakroomLoop

/// The folder where workers keep their rows of counters, `NAME-FINGERPRINT.counters`; the one that is scraped adds them
/// all up.
///
/// Workers of another version have another layout. `FINGERPRINT.layout` beside their rows says which series stands
/// where, so that what they counted goes on counting after an upgrade, and rates neither dip nor jump.
@LoopActor
package final class MetricsFolder {
    let path: String
    /// By fingerprint: where our layout has the series of another, by their indices there; read once.
    private var translations: [String: [(from: Int, to: Int)]] = [:]

    package init(path: String) { self.path = path }

    /// The row of one worker. A worker that takes the place of another goes on in its row, so nothing counts down.
    ///
    /// - Parameter worker: its name, such as the socket it listens on; made into a file name.
    package func metrics(worker: String, _ names: MetricNames = MetricNames()) throws(SystemError) -> Metrics {
        let layout = MetricsLayout(names)
        let name = Self.fileName(worker)
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let description = URL(fileURLWithPath: "\(path)/\(layout.fingerprint).layout")
        try? Data(layout.description.utf8).write(to: description, options: .atomic)
        let file = "\(path)/\(name)-\(layout.fingerprint)\(Self.ending)"
        let row = try MappedCounters(path: file, count: layout.count)
        // Gauges of a worker that was killed would be those of its successor, too.
        let use = try FileUse(file) {
            for index in Self.gauges(of: layout) { row.add(0 &- row[index], at: index) }
        }
        return try Metrics(layout: layout, row: row, use: use)
    }

    private static func gauges(of layout: MetricsLayout) -> [Int] {
        layout.families.filter { $0.kind == "gauge" }.flatMap(\.series).map(\.index)
    }

    static func fileName(_ worker: String) -> String {
        String(worker.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
    }

    /// The rows of all workers, added up by series: counters also of workers that have ended, so that none goes back, and gauges of
    /// those that run with the same layout.
    ///
    /// - Returns: the sums, and how many workers run.
    func sums(of layout: MetricsLayout) -> (values: [UInt64], workers: Int) {
        var values = [UInt64](repeating: 0, count: layout.count)
        var workers: Set<Substring> = []
        let own = layout.fingerprint
        let gauges = Set(Self.gauges(of: layout))
        for file in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] where file.hasSuffix(Self.ending)
        {
            let name = file.dropLast(Self.ending.count)
            guard let dash = name.lastIndex(of: "-") else { continue }
            let fingerprint = String(name[name.index(after: dash)...])
            let runs = FileUse.isUsed("\(path)/\(file)")
            if fingerprint == own {
                guard let row = try? MappedCounters(path: "\(path)/\(file)", count: layout.count) else { continue }
                for index in values.indices where runs || !gauges.contains(index) { values[index] &+= row[index] }
            } else {
                let indices = translation(of: fingerprint, to: layout)
                guard let last = indices.map(\.from).max(),
                    let row = try? MappedCounters(existing: "\(path)/\(file)"), last < row.count
                else { continue }
                for (from, to) in indices { values[to] &+= row[from] }
            }
            if runs { workers.insert(name[..<dash]) }
        }
        return (values, workers.count)
    }

    /// - Returns: none for a layout that is not described, or not as its fingerprint says.
    private func translation(of fingerprint: String, to layout: MetricsLayout) -> [(from: Int, to: Int)] {
        if let translation = translations[fingerprint] { return translation }
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: "\(path)/\(fingerprint).layout")),
            let text = String(validating: data, as: UTF8.self), MetricsLayout.fingerprint(of: text) == fingerprint
        else { return [] }
        let counters = layout.families.filter { $0.kind != "gauge" }.flatMap(\.series)
        let indices = Dictionary(counters.map { ($0.title, $0.index) }) { first, _ in first }
        let translation = text.split(separator: "\n").compactMap { line -> (from: Int, to: Int)? in
            let words = line.split(separator: " ", maxSplits: 1)
            guard words.count == 2, let from = Int(words[0]), from >= 0, let to = indices[String(words[1])] else {
                return nil
            }
            return (from, to)
        }
        translations[fingerprint] = translation
        return translation
    }

    private static let ending = ".counters"
}
