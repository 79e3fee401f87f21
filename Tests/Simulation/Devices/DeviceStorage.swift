import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomSimulationSystem
import Foundation

/// Where a device's app has its files, and launches of it that end with a loss of power.
@LoopActor
final class DeviceStorage {
    private let device: String
    private let folder: String
    /// Devices without photos in tiers lose no power.
    private let photos: DevicePhotos?
    private var random: SeededGenerator
    private var losses = 0
    private var disk: DeviceDisk?

    /// The app's files. Another folder after each loss of power: what the former app still has open is in none of this one's files.
    var home: String { "\(folder)/home-\(losses)" }

    init(_ device: String, in folder: String, _ draw: Draw, photos: DevicePhotos?) throws {
        (self.device, self.folder, self.photos) = (device, folder, photos)
        random = draw.generator("\(device) powerLoss")
        try FileManager.default.createDirectory(atPath: "\(home)/app", withIntermediateDirectories: true)
    }

    /// When the power fails: at any time, or where something may be lost by it.
    private enum Moment: CaseIterable {
        case any, sync, syncOfTiers, acceptance, eviction

        /// Of the syncs that the power may fail before.
        var mostSyncs: Double {
            switch self {
            case .any, .sync, .syncOfTiers: 100
            case .acceptance: 20
            case .eviction: 4
            }
        }
    }

    private func counts(_ path: String, _ moment: Moment) -> Bool {
        switch moment {
        case .any: false
        case .sync: true
        case .syncOfTiers: path.contains("/tiers/")
        case .acceptance: photos?.hasAccepted == true
        case .eviction: photos?.isEvicting == true
        }
    }

    /// A launch begins.
    func begin(_ process: DeviceProcess) {
        guard photos != nil else { return }
        let comes = Int.random(in: 0..<5, using: &random) == 0
        let moment = Moment.allCases.randomElement(using: &random)!
        let syncs = Int(random.seconds(in: 1...moment.mostSyncs)) - 1
        let delay = random.seconds(in: 0.1...20)
        let seed = random.next()
        guard comes, !Fault.powerLoss.isLeftOut else { return }
        let disk = DeviceDisk(
            home, random: SeededGenerator(seed: seed), syncs: moment == .any ? nil : syncs,
            counts: { [self] path in counts(path, moment) }
        ) { [self] in
            Trace.note(device, "loses power")
            Trace.reached(.powerLost)
            if photos?.isEvicting == true { Trace.reached(.powerLostInEviction) }
            process.die()
        }
        self.disk = disk
        guard moment == .any else { return }
        EventPoller.shared.schedule(after: .milliseconds(Int(delay * 1000))) {
            if process.isAlive { disk.fail() }
        }
    }

    /// A launch has ended.
    func end() throws {
        guard let disk else { return }
        self.disk = nil
        disk.end()
        guard disk.hasFailed else { return }
        let former = home
        losses += 1
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
        disk.restore(to: home)
        try FileManager.default.removeItem(atPath: former)
        if !disk.lost.isEmpty {
            Trace.note(device, "has lost something of \(disk.lost.count) files, such as \(disk.lost[0])")
            Trace.reached(.powerLostUnsynced)
        }
    }
}
