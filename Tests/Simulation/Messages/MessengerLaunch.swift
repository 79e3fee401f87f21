import CloakroomAWS
import CloakroomKit
import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomMessages
import CloakroomSimulationSystem
import Foundation

/// One process of the messenger: it may be killed wherever it waits, and at each step of a purge.
@LoopActor
final class MessengerLaunch {
    let device: String
    let user: String
    let process: DeviceProcess
    let clock: DeviceClock
    let oracle: Oracle
    /// Without a network: neither the worker nor letters.
    let isOffline: Bool
    let isLast: Bool
    /// Whether the library is given the app's client, to know the server's time.
    let hearsServer: Bool
    /// Until the device is unlocked for the first time after its start.
    let isLocked: Bool
    var random: SeededGenerator
    private let folder: String
    private let ended: Once
    private var waitsLeft = Int.max
    private var stepsLeft = Int.max

    /// - Parameters:
    ///   - isKilled: perhaps: it ends before it needs to be.
    ///   - ended: called when it was killed.
    init(
        _ messenger: Messenger, _ process: DeviceProcess, isOffline: Bool, isLast: Bool, isLocked: Bool,
        isKilled: Bool, random: SeededGenerator, ended: Once
    ) {
        device = messenger.name
        user = messenger.user
        clock = messenger.clock
        oracle = messenger.world.oracle
        folder = messenger.folder
        self.process = process
        self.isOffline = isOffline
        self.isLast = isLast
        hearsServer = messenger.hearsServer || isLast
        self.isLocked = isLocked
        self.random = random
        self.ended = ended
        let (waits, steps) = (Int(self.random.seconds(in: 1...400)), Int(self.random.seconds(in: 1...100)))
        guard isKilled else { return }
        if Bool.random(using: &self.random) { waitsLeft = waits } else { stepsLeft = steps }
    }

    // MARK: The end

    func kill(_ place: String) {
        guard process.isAlive else { return }
        Trace.note(device, "the messenger is killed \(place)")
        Trace.reached(.appKilled)
        end()
        // What it had begun before its next wait is done; nothing of it goes on after that.
        EventPoller.shared.schedule(after: .milliseconds(1)) { [ended] in ended.call() }
    }

    /// What the end of the process does.
    func end() {
        process.kill()
        simulation_unlock("\(folder)/")
    }

    /// A place where it waits.
    func pass() async {
        waitsLeft -= 1
        if waitsLeft <= 0 { kill("while it waits") }
        await process.check()
        guard Int.random(in: 0..<16, using: &random) == 0 else { return }
        try? await LoopActor.sleep(for: .milliseconds(Int.random(in: 1...40, using: &random)))
        await process.check()
    }

    func cross(_ step: PurgeStep) throws {
        stepsLeft -= 1
        guard stepsLeft <= 0 else { return }
        if process.isAlive { Trace.reached(.killedInPurge) }
        kill("in a purge: \(step)")
        throw PurgeInterrupted()
    }

    // MARK: Dependencies

    var runtime: RuntimeDependencies {
        RuntimeDependencies(
            wallClock: { [clock] in clock.wall }, now: { [clock] in clock.now },
            sleep: { duration in
                // A century is more than the loop's timers hold.
                try await LoopActor.sleep(for: min(duration, .seconds(40 * 86_400)))
                await self.pass()
            })
    }

    func reading(_ client: CloakroomClient) async -> RetentionClock.Reading {
        await pass()
        let server = await serverTime(client)
        return clock.reading(server: Plant.current == .purgeIsByLocalClock ? clock.wall : server)
    }

    /// The server's time, where the library is told.
    func serverTime(_ client: CloakroomClient) async -> Date? {
        guard hearsServer, let time = await client.serverClock.current else { return nil }
        clock.noteServerTime(true)
        return time
    }
}

/// The production vault, whose calls take some time.
struct MessengerVault: KeyVault {
    let vault: FileKeyVault
    let launch: MessengerLaunch

    func load() async throws -> Data? {
        if launch.isLocked { throw CloakroomError(.vaultLocked, "the device was not unlocked yet") }
        await launch.pass()
        let value = try await vault.load()
        await launch.pass()
        return value
    }

    func store(_ value: Data) async throws {
        await launch.pass()
        try await vault.store(value)
        await launch.pass()
    }

    func erase() async throws {
        await launch.pass()
        try await vault.erase()
        await launch.pass()
    }
}

/// What the app has of messages elsewhere, such as notifications; the system refuses to remove one at times.
struct Notifications: ExpiredMessageHandler {
    let launch: MessengerLaunch

    func remove(_ messages: [MessageReference]) async throws {
        await launch.pass()
        if await isRefused() { throw CloakroomError(.unavailable, "notifications cannot be removed") }
        await launch.oracle.purges(messages, launch)
        await launch.pass()
    }

    @LoopActor private func isRefused() -> Bool {
        Int.random(in: 0..<20, using: &launch.random) == 0 && !launch.isLast && !Fault.handlerFails.isLeftOut
    }
}

/// The worker's releases, watched.
struct WatchedReleaser: ImageReleaser {
    let client: CloakroomClient
    let launch: MessengerLaunch

    func release(_ images: [ImageRelease]) async throws -> [ImageReleaseResult] {
        await launch.pass()
        let results = try await client.release(images)
        for result in results {
            if case .released = result.outcome { await launch.oracle.released(result.objectKey, device: launch.device) }
        }
        await launch.pass()
        return results
    }
}
