import CloakroomJSON
package import CloakroomLoop
import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where each worker of a host leaves its status once a second, so that any of them responds for all:
/// `NAME-PROCESS-FINGERPRINT.status` in the folder of the counters.
@LoopActor
package final class StatusBoard {
    /// What has not been written for so long is left out: a worker that was killed.
    private static let lifetime: UInt64 = 30_000_000_000
    /// After so long it is removed, too.
    private static let removalAge: UInt64 = 3600 * 1_000_000_000
    private static let interval: Duration = .seconds(1)
    /// The largest response; workers beyond it are only counted.
    static let maximumBytes = 900 << 10
    private static let ending = ".status"

    package let own: WorkerStatus
    private let folder: String?
    private let name: String
    private let path: String?
    private var report: MappedReport?
    private var lastInstant: UInt64
    private let fingerprint: String
    private let now: @Sendable () -> Date

    /// - Parameter folder: `nil` where each worker tells of itself alone.
    init(own: WorkerStatus, folder: String?, name: String, process: Int, now: @escaping @Sendable () -> Date) {
        self.own = own
        self.now = now
        fingerprint = own.layout.fingerprint
        self.folder = folder
        let fileName = "\(MetricsFolder.fileName(name))-\(process)-\(fingerprint)\(Self.ending)"
        self.name = fileName
        path = folder.map { "\($0)/\(fileName)" }
        lastInstant = Monotonic.now
    }

    /// `nil` where none can be: the worker tells of the others all the same.
    private func newReport() -> MappedReport? {
        path.flatMap {
            try? MappedReport(path: $0, numbers: own.layout.count + 1, textBytes: WorkerStatus.maximumBytes)
        }
    }

    /// Leaves the status once a second from now on.
    package func start() {
        removeRemains()
        report = newReport()
        publishRegularly()
    }

    private func publishRegularly() {
        publish()
        EventPoller.shared.schedule(after: Self.interval) { [weak self] in self?.publishRegularly() }
    }

    /// Takes it away, at the end of the worker.
    package func remove() { report?.remove() }

    private func publish() { _ = published(at: Monotonic.now) }

    private func published(at instant: UInt64) -> (numbers: [UInt64], members: [UInt8]) {
        // One that was stopped for so long may have been taken for dead.
        if instant &- lastInstant >= Self.removalAge { report = newReport() }
        lastInstant = instant
        let (numbers, members) = own.report(at: instant)
        report?.write(numbers, members, at: instant)
        return (numbers, members)
    }

    private struct Entry {
        let age: UInt64
        /// Of the file.
        let name: String
        let members: [UInt8]

        /// The same for a worker and its successor.
        var worker: String {
            name.split(separator: "-", omittingEmptySubsequences: false).dropLast(2).joined(separator: "-")
        }
        /// No string in the members holds this: in one, quotation marks have a backslash.
        var isDraining: Bool { String(decoding: members, as: UTF8.self).contains("\"draining\":true") }
    }

    /// All workers' as one object; its own is of this moment.
    func response(at instant: UInt64 = Monotonic.now) -> RouteResponse {
        let (numbers, members) = published(at: instant)
        var minute = numbers
        var entries = [Entry(age: 0, name: name, members: members)]
        for entry in others(at: instant, &minute) { entries.append(entry) }
        return .json(body(entries, minute))
    }

    /// - Parameter minute: what others with the same layout counted is added to it.
    private func others(at instant: UInt64, _ minute: inout [UInt64]) -> [Entry] {
        var entries: [Entry] = []
        for (name, path) in otherFiles() {
            guard let content = MappedReport.read(path) else { continue }
            let age = Self.age(of: content, at: instant)
            guard age < Self.lifetime else {
                if age >= Self.removalAge { try? FileManager.default.removeItem(atPath: path) }
                continue
            }
            entries.append(Entry(age: age, name: name, members: content.text))
            guard name.dropLast(Self.ending.count).hasSuffix(fingerprint), content.numbers.count == minute.count else {
                continue
            }
            add(content.numbers, to: &minute)
        }
        return entries
    }

    private func otherFiles() -> [(name: String, path: String)] {
        guard let folder else { return [] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().filter { $0.hasSuffix(Self.ending) }.map { ($0, "\(folder)/\($0)") }.filter {
            $0.1 != path
        }
    }

    /// Of instants to come it is without end: the file is from before the system was started anew, which sets them back.
    private static func age(of content: MappedReport.Content, at instant: UInt64) -> UInt64 {
        guard content.instant <= instant &+ lifetime else { return .max }
        return instant - min(instant, content.instant)
    }

    /// Removes the files of workers that were killed: requests for the status, which do so too, may not come for a long time,
    /// and to them a file that was never written is none.
    private func removeRemains() {
        for (_, path) in otherFiles() {
            if let content = MappedReport.read(path) ?? MappedReport.read(path) {
                guard Self.age(of: content, at: Monotonic.now) >= Self.removalAge else { continue }
            } else {
                let made = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
                guard let made, now().timeIntervalSince(made) >= Double(Self.removalAge / 1_000_000_000) else {
                    continue
                }
            }
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    /// All but the length of the time, which is that of the one who has counted for longest.
    private func add(_ numbers: [UInt64], to minute: inout [UInt64]) {
        let last = minute.count - 1
        for index in 0..<last { minute[index] &+= numbers[index] }
        minute[last] = max(minute[last], numbers[last])
    }

    private func body(_ entries: [Entry], _ minute: [UInt64]) -> [UInt8] {
        var writer = JSONWriter(capacity: entries.reduce(1024) { $0 + $1.members.count + 32 })
        writer.beginObject()
        writer.member("time", now())
        let milliseconds = minute.last ?? 0
        writer.plainName("all")
        writer.beginObject()
        // A worker that was killed is listed for a while beside its successor.
        writer.member("workers", Set(entries.filter { !$0.isDraining }.map { $0.worker }).count)
        writer.counts(own.counts(minute, nanoseconds: milliseconds * 1_000_000))
        writer.endObject()
        writer.plainName("workers")
        writer.beginArray()
        var omitted = 0
        for entry in entries {
            guard writer.bytes.count + entry.members.count < Self.maximumBytes else {
                omitted += 1
                continue
            }
            writer.beginObject()
            writer.member("ageMilliseconds", Int(entry.age / 1_000_000))
            writer.members(entry.members)
            writer.endObject()
        }
        writer.endArray()
        writer.member("omitted", omitted)
        writer.endObject()
        return writer.bytes
    }
}
