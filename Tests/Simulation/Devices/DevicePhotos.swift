import CloakroomKit
import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomScriptedTier
import CloakroomSimulationSystem
import Foundation

@testable import CloakroomTiers

/// The part of an app that keeps recent photos on the device and older ones in S3.
@LoopActor
final class DevicePhotos {
    let oracle: PhotoOracle
    let device: String
    let user: String
    let world: World
    let clockSkew: Double
    var random: SeededGenerator
    private var faults: SeededGenerator
    let folder: String
    var count = 0
    /// Another folder after each reinstallation.
    private var installation = 0
    var isNew = true
    /// Photos of a former installation that this one has to find.
    var expected: [String] = []
    /// The name of the last installation that has published something, and whether it is a former one.
    var published: DeviceID?
    var hasFormer = false
    /// Photos that the former installation had listed and never stored: how many, as the new one was told.
    var lostWithFormer = 0
    /// As the store's steps say.
    var isMoving = false
    private(set) var isEvicting = false
    /// A photo in this launch.
    var hasAccepted = false
    private var isFull = false

    init(_ device: String, of user: String, _ draw: Draw, clockSkew: Double, in world: World) {
        (self.device, self.user, self.world, self.clockSkew) = (device, user, world, clockSkew)
        random = draw.generator("\(device) photos")
        faults = draw.generator("\(device) photos' faults")
        folder = "\(world.folder)/\(device)"
        oracle = PhotoOracle(device, of: user, in: world)
    }

    /// Whether another device of the user may need what this one removes.
    private var isShared: Bool {
        hasFormer || world.devices.contains { $0.name != device && $0.user == user && $0.photosInTiers != nil }
    }

    /// One launch of the app.
    @LoopActor
    final class Launch {
        let process: DeviceProcess
        let store: TieredPhotoStore
        let isLast: Bool

        init(_ process: DeviceProcess, _ store: TieredPhotoStore, isLast: Bool) {
            (self.process, self.store, self.isLast) = (process, store, isLast)
        }

        /// A call of the store, whose result a killed app does not see.
        func call<Value>(_ body: (TieredPhotoStore) async throws -> Value) async throws -> Value {
            do {
                let value = try await body(store)
                await process.check()
                return value
            } catch {
                await process.check()
                throw error
            }
        }
    }

    func live(_ process: DeviceProcess, _ cloakroom: Cloakroom, home: String, isLast: Bool) async throws {
        await process.check()
        strike(process, home, isLast: isLast)
        oracle.folder = "\(home)/tiers/\(installation)"
        oracle.isShared = isShared
        guard let store = try open(process, cloakroom, isLast: isLast) else { return }
        let launch = Launch(process, store, isLast: isLast)
        if isNew { try await rebuild(launch) }
        await removeAgain(launch)
        if isLast { return try await finish(launch) }
        for part in Part.allCases.shuffled(using: &random) {
            switch part {
            case .add: try await add(launch)
            case .look: await look(launch)
            case .remove: await remove(launch)
            case .move: try await move(launch)
            }
        }
        // Else the app is suspended, and ended by the system.
        if Bool.random(using: &random) { try await launch.call { try await $0.releaseLock() } }
    }

    private enum Part: CaseIterable { case add, look, remove, move }

    /// By its end or otherwise: nothing of the process is left.
    func launchEnded(in home: String) {
        simulation_unlock("\(home)/")
        simulation_empty_disk("\(home)/tiers/")
        (isMoving, isEvicting, hasAccepted, isFull) = (false, false, false, false)
        oracle.folder = "\(home)/tiers/\(installation)"
        oracle.look()
    }

    /// What a device sends that has all of its photos, and opens each.
    var normalRequests: Int { 20 + 6 * oracle.photos.count }

    // MARK: Faults

    /// Draws all of them, whatever is left out.
    private func strike(_ process: DeviceProcess, _ home: String, isLast: Bool) {
        guard !isLast else { return }
        let isKilled = Int.random(in: 0..<6, using: &faults) == 0
        let delay = faults.seconds(in: 0.01...10)
        let fills = Int.random(in: 0..<10, using: &faults) == 0
        let room = Int(faults.seconds(in: 1...200_000))
        let isLost = Int.random(in: 0..<25, using: &faults) == 0
        if isLost, !Fault.reinstallation.isLeftOut { reinstall(home) }
        if fills, !Fault.diskFull.isLeftOut {
            simulation_fill_disk("\(home)/tiers/", UInt64(room))
            isFull = true
            Trace.note(device, "has a disk with room for \(room) bytes")
        }
        guard isKilled, !Fault.appKilled.isLeftOut else { return }
        EventPoller.shared.schedule(after: .milliseconds(Int(delay * 1000))) { [self] in
            guard process.isAlive else { return }
            Trace.note(device, "is killed while it has its photos open")
            Trace.reached(.appKilled)
            if isMoving { Trace.reached(.killedWhileMoving) }
            process.die()
        }
    }

    private func reinstall(_ home: String) {
        oracle.folder = "\(home)/tiers/\(installation)"
        let kept = oracle.lost()
        Trace.note(device, "is installed anew, \(kept) photos are in S3")
        try? FileManager.default.removeItem(atPath: oracle.folder)
        installation += 1
        (isNew, hasFormer) = (true, true)
        expected = oracle.names
    }

    /// What a call may fail with; anything else ends the run.
    func passes(_ error: any Error, _ what: String) {
        let error = CloakroomError(of: error)
        Trace.note(device, "\(what): \(error.code)")
        switch error.code {
        case .diskFull:
            Finding.require(isFull, "\(device): \(what): the disk is not full: \(error)")
            Trace.reached(.diskFull)
        case .notAllowedNow: Trace.reached(.moveWaits)
        default:
            Finding.require(!Self.never.contains(error.code), "\(device): \(what): \(error)")
        }
    }

    private static let never: Set<CloakroomError.Code> = [
        .accountChanged, .alarmRaised, .archived, .clockWentBack, .nameTaken, .noSuchPhoto, .photoCollision,
        .photoDamaged, .photoExpiring, .photoMissing, .storeFailed, .storeInUse, .unreadableFile, .unwritableFile,
    ]

    // MARK: The store

    private func open(_ process: DeviceProcess, _ cloakroom: Cloakroom, isLast: Bool) throws -> TieredPhotoStore? {
        let skew = clockSkew
        let tier = S3ColdTier(client: cloakroom.objects, layout: cloakroom.layout, reader: cloakroom.reader)
        do {
            return try TieredPhotoStore(
                folder: URL(fileURLWithPath: oracle.folder, isDirectory: true),
                tier: tier,
                thumbnailer: ScriptedThumbnailer { _ in await process.work() }, policy: policy(),
                conditions: ScriptedConditions(isLast ? DeviceConditions() : conditions()) { await process.work() },
                clock: { Date() + skew },
                step: { [self] step in LoopActor.assumeIsolated { reached(step, process) } },
                sleep: { instant in
                    try await Task.sleep(until: instant, clock: .continuous)
                    await process.check()
                })
        } catch {
            passes(error, "photos cannot be opened")
            return nil
        }
    }

    private func reached(_ step: TierStep, _ process: DeviceProcess) {
        guard process.isAlive else { return }
        switch step {
        case .evicting: isEvicting = true
        case .unlinked: oracle.look()
        case .cold:
            isEvicting = false
            oracle.look()
        case .fetched: Trace.reached(.photoCameBack)
        case .adopted: Trace.reached(.photoAdopted)
        case .copied, .imported, .uploading, .stored, .verified, .tombstoned, .removed: break
        }
    }

    private func conditions() -> DeviceConditions {
        let networks: [DeviceConditions.Network] = [
            .unrestricted, .unrestricted, .unrestricted, .unrestricted, .expensive, .none,
        ]
        return DeviceConditions(
            hasExternalPower: Bool.random(using: &random), batteryLevel: Double.random(in: 0...1, using: &random),
            network: networks.randomElement(using: &random)!)
    }

    /// Mostly one by which photos leave within days.
    func policy() -> RetentionPolicy {
        RetentionPolicy(
            period: RetentionPolicy.Period.allCases.randomElement(using: &random)!,
            hotByteLimit: [nil, 0, 5000, 20_000].randomElement(using: &random)!,
            uploadTime: Int.random(in: 0..<4, using: &random) == 0 ? .whenDue : .whenAdded)
    }
}
