import Foundation

/// Where the model and the stores part.
struct Violation: Sendable, Equatable {
    /// After so many steps; all of them when it shows in the end.
    var step: Int
    var text: String

    /// The same for failures that differ in devices, photos and hours alone.
    var kind: String { text.filter { !$0.isNumber } }
}

/// What schedules did, all together: that nothing failed says little when nothing happened.
struct Experience: Equatable {
    var departures = 0
    var fetches = 0
    var deletions = 0

    mutating func add(_ fleet: Fleet) {
        departures += fleet.ledger.departures
        fetches += fleet.store.requests(.fetch)
        deletions += fleet.store.requests(.delete)
    }
}

/// Runs schedules, each with devices and a store of its own.
final class ScheduleRunner {
    private(set) var experience = Experience()
    private let folder: URL
    private let sources: URL

    /// - Parameter folder: a new one; everything of all schedules is in it.
    init(folder: URL) throws {
        self.folder = folder
        sources = folder.appendingPathComponent("sources", isDirectory: true)
        try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
        for (number, bytes) in Photos.bytes.enumerated() {
            try bytes.write(to: sources.appendingPathComponent("\(number)"))
        }
    }

    /// - Returns: `nil` when everything held.
    func run(_ steps: [Step]) throws -> Violation? {
        let root = folder.appendingPathComponent("schedule-\(UUID().uuidString)", isDirectory: true)
        defer { try? FileManager.default.removeItem(at: root) }
        let fleet = try Fleet(devices: steps.deviceCount, root: root, sources: sources)
        defer { experience.add(fleet) }
        for (number, step) in steps.enumerated() {
            if let text = try fleet.perform(step) { return Violation(step: number + 1, text: text) }
        }
        if let text = try fleet.finish(wiping: steps.count) { return Violation(step: steps.count, text: text) }
        return nil
    }
}

extension [Step] {
    /// Those that the steps are about; one at least.
    var deviceCount: Int { (compactMap(\.device).max() ?? 0) + 1 }
}

extension Step {
    /// `nil` for what happens to all.
    var device: Int? {
        switch self {
        case .begin(let device, _, _), .advance(let device, _), .advanceUntil(let device, _), .setClock(let device, _),
            .network(let device, _),
            .power(let device, _),
            .damageFile(let device, _), .damageCatalog(let device), .kill(let device), .killAtStep(let device, _),
            .wipe(let device), .secondProcess(let device):
            device
        case .turn, .drain, .pass, .store: nil
        }
    }
}
