import CloakroomKit
import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomSQLite
import Foundation

@testable import CloakroomMessages

/// The messenger in one launch, from the opening of what is stored.
@LoopActor
struct MessengerSession {
    let messenger: Messenger
    let launch: MessengerLaunch
    let client: CloakroomClient
    let storage: SQLiteMessageStorage
    let retention: MessageRetention

    var oracle: Oracle { launch.oracle }
    var ledger: MessageLedger { launch.oracle.messages }
    var name: String { messenger.name }

    static let chatKeyPrefix = "chats/"

    /// - Returns: `nil` when the messages cannot be opened now.
    init?(_ messenger: Messenger, _ launch: MessengerLaunch) async throws {
        let client = CloakroomClient(
            endpoint: URL(string: World.apiURL)!, tokens: Tokens(messenger: messenger),
            transport: DeviceTransport(process: launch.process), runtime: launch.runtime)
        guard let storage = try await Self.open(messenger, launch, client) else { return nil }
        (self.messenger, self.launch, self.client, self.storage) = (messenger, launch, client, storage)
        retention = try await MessageRetention(
            of: messenger.own, storage: storage, handlers: [Notifications(launch: launch)],
            releaser: WatchedReleaser(client: client, launch: launch), chatKeyPrefix: Self.chatKeyPrefix,
            runtime: launch.runtime, timeCorrections: launch.hearsServer ? client.serverClock.corrections : nil,
            read: { await launch.reading(client) })
        await launch.pass()
    }

    private static func open(
        _ messenger: Messenger, _ launch: MessengerLaunch, _ client: CloakroomClient
    ) async throws -> SQLiteMessageStorage? {
        func open(beginningAnew: Bool) async throws -> SQLiteMessageStorage {
            try await SQLiteMessageStorage(
                folder: URL(fileURLWithPath: "\(messenger.folder)/messages", isDirectory: true),
                vault: MessengerVault(
                    vault: FileKeyVault(folder: URL(fileURLWithPath: "\(messenger.folder)/vault", isDirectory: true)),
                    launch: launch),
                beginningAnewIfLost: beginningAnew, reading: await launch.reading(client),
                step: { step in try LoopActor.assumeIsolated { try launch.cross(step) } })
        }
        do {
            let storage = try await open(beginningAnew: false)
            await launch.pass()
            messenger.isVaultLost = false
            return storage
        } catch let error as CloakroomError where error.code == .vaultLocked && launch.isLocked {
            Trace.reached(.vaultLocked)
            return nil
        } catch let error as CloakroomError where error.code == .vaultLost && messenger.isVaultLost {
            // Its user decides, perhaps another day.
            guard launch.isLast || Bool.random(using: &launch.random) else { return nil }
        }
        launch.oracle.messages.lose(on: messenger.name, isDone: false)
        let storage = try await open(beginningAnew: true)
        await launch.pass()
        launch.oracle.messages.lose(on: messenger.name, isDone: true)
        messenger.isVaultLost = false
        Trace.note(messenger.name, "begins anew without its vault")
        Trace.reached(.vaultBegunAnew)
        return storage
    }

    private struct Tokens: TokenProvider {
        let messenger: Messenger

        func token() async throws -> String { await messenger.token }
        func token(ofUser userID: String) async throws -> String { await messenger.token }
        func tokenRefused(_ token: String) async {}
    }

    // MARK: The launch

    func live(until end: UInt64) async throws {
        for conversation in messenger.conversations {
            try await retention.setMembers(conversation.members, of: conversation.id)
        }
        let purging = LoopActor.spawn { [retention] in await retention.run() }
        if isOnline, launch.isLast || draw(5) > 0 {
            // Any response of the worker tells its time.
            _ = try? await client.requestUpload(contentType: "image/jpeg", byteCount: 1000)
        }
        // Whether the library has read the server's time.
        var isTimeRead = false
        for number in 0..<(launch.isLast ? 4 : 1 + draw(3)) {
            try await beat(number)
            let longest = Double(end.subtractingReportingOverflow(VirtualTime.now).partialValue) / 1e9
            let drawn = launch.random.seconds(in: 5...7000)
            let stay = launch.isLast ? 20 : min(drawn, end > VirtualTime.now ? longest : 5)
            await messenger.sleep(stay)
            await launch.process.check()
            // What ended meanwhile was purged at once, but for a handler that failed, or a release that took its time.
            if stay > 300, isTimeRead { oracle.hasPurged(launch, isServerKnown: true, within: 300) }
            let isServerKnown = await hearsServer()
            try await look()
            isTimeRead = isServerKnown
        }
        purging.cancel()
        await purging.value
        await launch.process.check()
        try await purge()
        guard launch.isLast || draw(3) > 0 else { return }
        await storage.close()
        await launch.process.check()
        if await hearsServer() { launch.clock.explain() }
    }

    private func beat(_ number: Int) async throws {
        for conversation in messenger.conversations {
            let isNew = !messenger.chosen.contains(conversation.id)
            let isDue = isNew ? launch.isLast || number == 0 && draw(3) > 0 : draw(10) == 0
            // Both may change theirs before either has heard of the other's.
            if isDue, !launch.isLast || isNew { try await change(conversation) }
        }
        if isOnline {
            // At last once more: a letter may have been refused by a clock that was wrong.
            if number == 0 || launch.isLast && number == 1 {
                for each in messenger.conversations { try await connect(each) }
            }
            try await receive()
        }
        if !launch.isLast || number == 0 { for _ in 0..<draw(3) { try await write() } }
        if isOnline { try await send() }
        if !launch.isLast, draw(40) == 0 { try await delete() }
        if !launch.isLast, draw(10) == 0 { try await close() }
    }

    /// Looks at all that is shown.
    func look() async throws {
        let isServerKnown = await hearsServer()
        for conversation in messenger.conversations {
            let shown = try await retention.messages(in: conversation.id, limit: 10_000)
            await launch.process.check()
            if isServerKnown { oracle.knowsServer(launch) }
            oracle.shows(shown, of: conversation, launch, isServerKnown: isServerKnown)
            ledger.knows(
                try await storage.registers(in: conversation.id), of: conversation, launch,
                devices: messenger.devices[conversation.id] ?? [])
        }
        oracle.lookAtChatImages()
    }

    private func purge() async throws {
        let isServerKnown = await hearsServer()
        let report = try await retention.purge()
        await launch.process.check()
        if isServerKnown { oracle.knowsServer(launch) }
        if report.stoppedBy == nil { oracle.hasPurged(launch, isServerKnown: isServerKnown) }
        if isOnline {
            do { _ = try await retention.releaseAssets() } catch {
                Finding.require(!launch.isLast, "\(name): no release works after the faults: \(error)")
            }
            await launch.process.check()
        }
        try await look()
        if report.isComplete { oracle.bounds(try await storage.counts(), launch) }
        guard launch.isLast else { return }
        Finding.require(report.stoppedBy == nil, "\(name): no purge is complete after the faults: \(report)")
        oracle.hasReleased(try await storage.waitingImages(), launch)
    }

    // MARK: What it draws, and knows

    var isOnline: Bool { !launch.isOffline }

    func draw(_ count: Int) -> Int { Int.random(in: 0..<count, using: &launch.random) }

    func hearsServer() async -> Bool { await launch.serverTime(client) != nil }
}

extension Messenger {
    /// Of an app that gets another one for each launch.
    fileprivate var token: String { world.token(of: user, device: "\(name)-m") }
}

/// What is there, for the oracle.
extension SQLiteMessageStorage {
    struct Counts: Sendable {
        var messages = 0
        var condemned = 0
        var releases = 0
        var keys = 0
        var files = 0
        var live = 0
    }

    func registers(in conversation: ConversationID) throws -> [ParticipantID: RetentionRegister] {
        try self.conversation(conversation)?.state.registers ?? [:]
    }

    func counts() throws -> Counts {
        func count(_ table: String) throws -> Int {
            try database.perform { database throws(SQLiteError) in
                try database.first("SELECT count(*) FROM \(table)") { Int($0.integer(0)) } ?? 0
            }
        }
        return Counts(
            messages: try count("message"), condemned: try count("condemned"), releases: try count("release"),
            keys: keys.table.ids.count,
            files: try FileManager.default.contentsOfDirectory(atPath: folder.attachments.path).count,
            live: try count("attachment WHERE file IS NOT NULL"))
    }

    /// Images that are released later, with whether it is time.
    func waitingImages() throws -> [String: Bool] {
        let now = clock.device
        return Dictionary(
            uniqueKeysWithValues: try database.perform { database throws(SQLiteError) in
                try database.rows("SELECT asset_key, not_before FROM release") { ($0.text(0), $0.integer(1) <= now) }
            })
    }
}
