import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomSimulationSystem
import Foundation

/// Where a device's app has its files, and launches of it that end with a loss of power.
@LoopActor
final class DeviceStorage {
    private let device: String
    private let folder: String
    private let canLosePower: Bool
    private var random: SeededGenerator
    private var losses = 0
    private var disk: DeviceDisk?
    /// Told of each loss of power when it comes.
    var onLoss: (@LoopActor () -> Void)?

    /// The app's files. Another folder after each loss of power: what the former app still has open is in none of this one's files.
    var home: String { "\(folder)/home-\(losses)" }

    init(_ device: String, in folder: String, _ draw: Draw, canLosePower: Bool) throws {
        (self.device, self.folder, self.canLosePower) = (device, folder, canLosePower)
        random = draw.generator("\(device) powerLoss")
        try FileManager.default.createDirectory(atPath: "\(home)/app", withIntermediateDirectories: true)
    }

    /// A launch begins.
    func begin(_ process: DeviceProcess) {
        guard canLosePower else { return }
        let comes = Int.random(in: 0..<5, using: &random) == 0
        // At one of the moments at which something may be lost, or at any time.
        let syncs = Bool.random(using: &random) ? Int(random.seconds(in: 1...200)) - 1 : nil
        let delay = random.seconds(in: 0.1...20)
        let seed = random.next()
        guard comes, !Fault.powerLoss.isLeftOut else { return }
        let disk = DeviceDisk(home, random: SeededGenerator(seed: seed), syncs: syncs) { [self] in
            Trace.note(device, "loses power")
            Trace.reached(.powerLost)
            onLoss?()
            process.die()
        }
        self.disk = disk
        guard syncs == nil else { return }
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
            Trace.note(device, "has lost some of \(disk.lost.joined(separator: ", "))")
            Trace.reached(.powerLostUnsynced)
        }
    }
}
