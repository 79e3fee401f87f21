import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Synchronization

@testable import CloakroomTiers

/// A store that does what a test tells it, and waits where it is told to.
final class ScriptedPhotoStore: PhotoStoring {
    struct Script: Sendable {
        var photos: [TimelineItem] = []
        var failure: CloakroomError?
        var coldThumbnails: [Int64: Data] = [:]
        /// The result of each opening, in their order; the last one is also that of all later ones.
        var loads: [[PhotoLoad]] = []
        /// Openings do not end by themselves.
        var loadsStayOpen = false
        var usage = StorageUsage()
        var availability = TierAvailability()
        var plan = DownloadPlan(photoCount: 0, byteCount: 0, availableBytes: nil)
        var policy = RetentionPolicy()
        var preview = TieringReport()
        var freed = TieringReport()
        var restored = CloakroomTiers.DownloadReport()
        var counts: [(Int, Int)] = []
        var alarms: [TierAlarm] = []
        var accountChange: AccountChange?
        var devices: [PhotoDevice] = []
    }

    private struct Contents {
        var script: Script
        var calls: [String] = []
        var loading: [AsyncStream<PhotoLoad>.Continuation] = []
        var endedLoads = 0
    }

    private let contents: Mutex<Contents>
    /// Calls that wait for ``Gate/open()``, by their names.
    let gates: [String: Gate]

    init(_ script: Script, gates: [String: Gate] = [:]) {
        contents = Mutex(Contents(script: script))
        self.gates = gates
    }

    /// What was called, in its order.
    var calls: [String] { contents.withLock { $0.calls } }
    var endedLoads: Int { contents.withLock { $0.endedLoads } }
    func count(of call: String) -> Int { calls.filter { $0 == call }.count }
    func change(_ change: @Sendable (inout Script) -> Void) { contents.withLock { change(&$0.script) } }

    /// One more step of the opening that was begun last.
    func send(_ step: PhotoLoad) { _ = contents.withLock { $0.loading.last }?.yield(step) }

    private func script(_ call: String) -> Script {
        contents.withLock {
            $0.calls.append(call)
            return $0.script
        }
    }

    /// As things are when it is called; returned once its gate is open.
    private func called(_ call: String, _ gate: String? = nil) async throws -> Script {
        let script = script(call)
        await gates[gate ?? call]?.pass()
        if let failure = script.failure { throw failure }
        return script
    }

    func thumbnails(before: TimelineCursor?, limit: Int) async throws -> [TimelineItem] {
        let script = try await called("thumbnails before \(before.map { "\($0.id)" } ?? "none")", "thumbnails")
        let start = before.map { cursor in
            script.photos.firstIndex { ($0.cursor.takenAt, $0.cursor.id) < (cursor.takenAt, cursor.id) }
                ?? script.photos.count
        }
        return Array(script.photos[(start ?? 0)...].prefix(limit))
    }

    func thumbnail(of id: PhotoID) async throws -> Data? {
        try await called("thumbnail \(id.rawValue)").coldThumbnails[id.rawValue]
    }

    func load(_ id: PhotoID, within: Duration) -> AsyncStream<PhotoLoad> {
        let (steps, continuation) = AsyncStream.makeStream(of: PhotoLoad.self)
        continuation.onTermination = { [weak self] _ in self?.contents.withLock { $0.endedLoads += 1 } }
        let script = contents.withLock { contents in
            contents.calls.append("load \(id.rawValue) within \(within)")
            contents.loading.append(continuation)
            let script = contents.script
            if contents.script.loads.count > 1 { contents.script.loads.removeFirst() }
            return script
        }
        for step in script.loads.first ?? [] { continuation.yield(step) }
        if !script.loadsStayOpen { continuation.finish() }
        return steps
    }

    func pin(_ id: PhotoID, _ isPinned: Bool) async throws { _ = try await called("pin \(id.rawValue) \(isPinned)") }
    func usage() async throws -> StorageUsage { try await called("usage").usage }
    func availability() async -> TierAvailability { script("availability").availability }
    func downloadPlan() async throws -> DownloadPlan { try await called("plan").plan }

    var policy: RetentionPolicy {
        get async {
            let policy = script("policy").policy
            await gates["policy"]?.pass()
            return policy
        }
    }

    func setPolicy(_ policy: RetentionPolicy) async throws {
        _ = try await called("setPolicy")
        change { $0.policy = policy }
    }

    func freeSpace(_ mode: FreeSpaceMode, progress: (@Sendable (Int, Int) -> Void)?) async -> TieringReport {
        let script = script("freeSpace \(mode)")
        for (done, total) in script.counts {
            progress?(done, total)
            await gates["count"]?.pass()
        }
        return mode == .preview ? script.preview : script.freed
    }

    func restoreAll(progress: (@Sendable (Int, Int) -> Void)?) async -> CloakroomTiers.DownloadReport {
        let script = script("restoreAll")
        for (done, total) in script.counts {
            if Task.isCancelled {
                var report = CloakroomTiers.DownloadReport()
                report.restored = done
                report.stoppedBy = CloakroomError(.cancelled, "stopped")
                return report
            }
            progress?(done, total)
            await gates["count"]?.pass()
        }
        return script.restored
    }

    func alarms() async throws -> [TierAlarm] { try await called("alarms").alarms }
    func dismissAlarm(_ kind: TierAlarm.Kind) async throws {
        _ = try await called("dismissAlarm \(kind)")
        change { $0.alarms.removeAll { $0.kind == kind } }
    }

    func accountChange() async throws -> AccountChange? { try await called("accountChange").accountChange }
    func acceptAccount(_ account: TierIdentity) async throws {
        _ = try await called("acceptAccount \(account)")
        change { $0.alarms.removeAll { $0.kind == .accountChanged } }
    }

    func devices() async throws -> [PhotoDevice] { try await called("devices").devices }
    func dismissDevice(_ id: DeviceID) async throws {
        _ = try await called("dismissDevice \(id.rawValue)")
        change { $0.devices.removeAll { $0.id == id } }
    }
}

extension TimelineItem {
    /// The `number`th photo, newer than those of lower numbers.
    static func sample(
        _ number: Int64, place: PhotoPlace = .device, isPinned: Bool = false, thumbnail: Data? = Data("t".utf8)
    ) -> TimelineItem {
        TimelineItem(
            id: PhotoID(rawValue: number), takenAt: Date(milliseconds: 1_766_577_600_000 + number), place: place,
            isPinned: isPinned, byteCount: 150_000, thumbnail: thumbnail,
            cursor: TimelineCursor(takenAt: 1_766_577_600_000 + number, id: number))
    }

    /// Newest first.
    static func samples(_ count: Int64) -> [TimelineItem] { (1...count).reversed().map { sample($0) } }
}
