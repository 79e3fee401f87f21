import CloakroomKit
import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomMessages
import Foundation

/// A messenger on a device, beside the app that backs up photos: conversations whose messages end.
@LoopActor
final class Messenger {
    /// Of the device.
    let name: String
    let user: String
    let own: ParticipantID
    let folder: String
    let world: World
    let office: PostOffice
    let clock: DeviceClock
    /// Whether the app gives its client to the library.
    let hearsServer: Bool
    let conversations: [Conversation]
    /// All of each conversation's, this one included.
    let devices: [ConversationID: [String]]

    // What the app itself keeps, also when it is killed.
    var outgoing: [Outgoing] = []
    /// Of these: what may be over, as far as the device knows.
    var putOff: Set<Int> = []
    /// Conversations whose user has chosen how long messages are kept, since the app was new.
    var chosen: Set<ConversationID> = []
    var isVaultLost = false

    private var random: SeededGenerator
    private var events: SeededGenerator
    private var settings: SeededGenerator
    private var workerReach: SeededGenerator
    private(set) var isRunning = false

    /// A message that waits for a network.
    struct Outgoing {
        let number: Int
        let reference: MessageReference
        let assetKeys: [String]
    }

    init(
        _ name: String, of user: String, _ conversations: [Conversation], devices: [ConversationID: [String]],
        _ office: PostOffice, _ draw: Draw, in world: World
    ) {
        (self.name, self.user, self.world, self.office) = (name, user, world, office)
        own = Conversation.participant(user)
        folder = "\(world.folder)/\(name)-m"
        self.conversations = conversations.filter { $0.users.contains(user) }
        self.devices = devices
        random = draw.generator("\(name) messenger")
        events = draw.generator("\(name) messenger's events")
        settings = draw.generator("\(name) messenger's clock")
        workerReach = draw.generator("\(name) messenger's worker")
        hearsServer = Int.random(in: 0..<4, using: &settings) > 0
        let isWrong = Int.random(in: 0..<3, using: &settings) == 0
        let offset = Self.offset(hearsServer, &settings)
        clock = DeviceClock(offset: isWrong && !Fault.wrongClock.isLeftOut ? offset : 0)
        Trace.note(name, "has a messenger, its clock \(clock.offset / 1000) s off\(hearsServer ? "" : ", no client")")
    }

    /// Up to two days; where no server is heard, up to the one that is promised to do no harm.
    private static func offset(_ hearsServer: Bool, _ random: inout SeededGenerator) -> Milliseconds {
        let most = hearsServer ? 2 * Milliseconds.day : Milliseconds.day - 60_000
        return Milliseconds.random(in: -most...most, using: &random)
    }

    // MARK: Days

    func start(until end: UInt64) {
        LoopActor.spawn { [self] in
            while true {
                let isAway = Int.random(in: 0..<16, using: &random) == 0
                await sleep(isAway ? random.seconds(in: 50_000...200_000) : random.seconds(in: 300...30_000))
                guard VirtualTime.now < end else { return }
                befall()
                await launch(until: end)
            }
        }
        LoopActor.spawn { [self] in
            while true {
                await sleep(settings.seconds(in: 3600...200_000))
                let isRight = Bool.random(using: &settings)
                let offset = Self.offset(hearsServer, &settings)
                guard VirtualTime.now < end else { return }
                guard !Fault.clockSet.isLeftOut else { continue }
                setClock(to: isRight ? 0 : offset)
            }
        }
    }

    func sleep(_ seconds: Double) async { try? await LoopActor.sleep(for: .milliseconds(Int(seconds * 1000))) }

    private func setClock(to offset: Milliseconds) {
        guard offset != clock.offset else { return }
        Trace.note(name, "its clock is set by \((offset - clock.offset) / 1000) s\(isRunning ? " while it runs" : "")")
        Trace.reached(offset > clock.offset ? .clockSetAhead : .clockSetBack)
        clock.set(to: offset)
    }

    /// What happens between two launches.
    private func befall() {
        let (restart, loss, new) = (
            Int.random(in: 0..<6, using: &events), Int.random(in: 0..<25, using: &events),
            Int.random(in: 0..<30, using: &events)
        )
        if restart == 0, !Fault.deviceRestarted.isLeftOut {
            clock.restart()
            Trace.note(name, "starts anew")
            Trace.reached(.deviceRestarted)
        }
        if new == 0, !Fault.reinstallation.isLeftOut {
            remove("messages")
            remove("vault")
            (outgoing, chosen, isVaultLost) = ([], [], false)
            clock.noteServerTime(false)
            world.oracle.messages.reinstalled(name, of: user)
            Trace.note(name, "the messenger is installed anew")
            Trace.reached(.reinstalled)
        } else if loss == 0, !Fault.vaultLost.isLeftOut, FileManager.default.fileExists(atPath: "\(folder)/vault") {
            remove("vault")
            isVaultLost = true
            Trace.note(name, "its vault is lost")
        }
    }

    private func remove(_ part: String) { try? FileManager.default.removeItem(atPath: "\(folder)/\(part)") }

    // MARK: Launches

    private func launch(until end: UInt64) async {
        let (offline, killed, locked, milliseconds) = (
            Int.random(in: 0..<6, using: &events), Int.random(in: 0..<4, using: &events),
            Int.random(in: 0..<12, using: &events), events.seconds(in: 1...1_000_000)
        )
        let process = DeviceProcess("\(name)-m", in: world)
        let isOffline = offline == 0 && !Fault.offline.isLeftOut
        let hasWorker = reachesWorker()
        process.isOffline = isOffline || !hasWorker
        let network = isOffline ? " without a network" : process.isOffline ? " without the worker" : ""
        Trace.note(name, "the messenger is launched\(network)")
        await run(
            process, isOffline: isOffline, isLast: false, isLocked: locked == 0 && !Fault.vaultLocked.isLeftOut,
            isKilled: killed == 0 && !Fault.appKilled.isLeftOut, after: milliseconds, until: end)
    }

    /// By a clock that is off by more than a day the worker's certificate is often not valid, while the app's own channel works:
    /// a new messenger gets letters, and does not have the server's time for some launches.
    private func reachesWorker() -> Bool {
        let isReached = Int.random(in: 0..<8, using: &workerReach) == 0
        return isReached || clock.hasServerTime || clock.offset.magnitude <= Milliseconds.day
    }

    /// After all faults: everything works, and the time is right.
    func launchLast() async {
        setClock(to: 0)
        await run(
            DeviceProcess("\(name)-m", in: world), isOffline: false, isLast: true, isLocked: false, isKilled: false,
            after: 0, until: .max
        )
    }

    private func run(
        _ process: DeviceProcess, isOffline: Bool, isLast: Bool, isLocked: Bool, isKilled: Bool,
        after milliseconds: Double, until end: UInt64
    ) async {
        isRunning = true
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let ended = Once { continuation.resume() }
            let launch = MessengerLaunch(
                self, process, isOffline: isOffline, isLast: isLast, isLocked: isLocked, isKilled: isKilled,
                random: SeededGenerator(seed: random.next()), ended: ended)
            LoopActor.spawn { [self] in
                await live(launch, until: end)
                launch.end()
                ended.call()
            }
            guard isKilled else { return }
            EventPoller.shared.schedule(after: .milliseconds(Int(milliseconds))) {
                if ended.isOpen { launch.kill("at some time") }
            }
        }
        // What was in memory alone is over.
        world.oracle.messages.close(nil, on: name, isDone: true)
        isRunning = false
    }

    private func live(_ launch: MessengerLaunch, until end: UInt64) async {
        do {
            guard let session = try await MessengerSession(self, launch) else { return }
            try await session.live(until: end)
        } catch {
            // What a step throws in the place of the end of the process.
            await launch.process.check()
            Finding.end("\(name): the messenger's part of a launch failed: \(error)")
        }
    }
}
