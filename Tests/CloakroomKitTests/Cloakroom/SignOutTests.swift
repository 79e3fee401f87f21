import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite(.timeLimit(.minutes(1))) struct SignOutTests {
    private let bench: CloakroomBench
    private var folder: TemporaryFolder { bench.folder }
    private var http: ScriptedHTTP { bench.http }

    init() throws { bench = try CloakroomBench() }

    private func cloakroom(of user: String, _ http: ScriptedHTTP? = nil) throws -> Cloakroom {
        try bench.cloakroom(of: user, http)
    }

    @Test func `a sign-out keeps what is unsent, and forgets credentials and images`() async throws {
        let cloakroom = try cloakroom(of: "u_1")
        _ = try await cloakroom.credentials.credentials()
        let images = try cloakroom.images()
        _ = try await images.data(for: .url(try #require(URL(string: "https://cdn.example/a.bin"))))
        #expect(await images.cachedBytes > 0)
        let outbox = try cloakroom.outbox()
        try await outbox.add(photo: try folder.write("a.heic", Data("a photo".utf8)))
        let report = try await cloakroom.signOut(.keepingUnsent)
        #expect(report.kept.items == 1)
        #expect(await images.cachedBytes == 0)
        let sealed = cloakroom.folder.appendingPathComponent("credentials/credentials.sealed").path
        #expect(!FileManager.default.fileExists(atPath: sealed))
        await #expect(throws: CloakroomError.self) { try await outbox.unsent() }
        // The same user's next session goes on with it, and another user's does not.
        #expect(try await self.cloakroom(of: "u_2").outbox().unsent().isEmpty)
        let next = try self.cloakroom(of: "u_1").outbox()
        #expect(await next.run().sent == 1)
    }

    @Test func `a sign-out discards what an earlier launch left unsent`() async throws {
        do {
            let outbox = try cloakroom(of: "u_1").outbox()
            try await outbox.add(photo: try folder.write("a.heic", Data("a photo".utf8)))
        }
        let report = try await cloakroom(of: "u_1").signOut(.discardingUnsent)
        #expect(report.removed.count == 1)
        #expect(try await cloakroom(of: "u_1").outbox().unsent().isEmpty)
    }

    @Test func `a sign-out removes images and exports that earlier launches left, and no journal`() async throws {
        let image = ImageSource.url(try #require(URL(string: "https://cdn.example/a.bin")))
        let file = try await cloakroom(of: "u_1").images().file(for: image)
        let theirs = try await cloakroom(of: "u_2").images().file(for: image)
        let next = try cloakroom(of: "u_1")
        _ = try next.backup(of: FolderPhotoSource(folder.url))
        let export = next.folder.appendingPathComponent("source-library/a.heic")
        try FileManager.default.createDirectory(
            at: export.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("a photo".utf8).write(to: export)
        try await next.signOut(.keepingUnsent)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(!FileManager.default.fileExists(atPath: export.path))
        #expect(FileManager.default.fileExists(atPath: theirs.path))
        #expect(
            FileManager.default.fileExists(atPath: next.folder.appendingPathComponent("source-library.sqlite").path))
    }

    @Test func `a sign-out of an app without a queue of uploads makes none`() async throws {
        let cloakroom = try cloakroom(of: "u_1")
        #expect(try await cloakroom.signOut(.discardingUnsent).removed == [])
        #expect(cloakroom.outboxPlace.found() == nil)
    }

    @Test func `a second sign-out does nothing`() async throws {
        do {
            let outbox = try cloakroom(of: "u_1").outbox()
            try await outbox.add(photo: try folder.write("a.heic", Data("a photo".utf8)))
        }
        let cloakroom = try cloakroom(of: "u_1")
        #expect(try await cloakroom.signOut(.keepingUnsent).kept.items == 1)
        #expect(try await cloakroom.signOut(.keepingUnsent).kept.items == 1)
    }

    @Test func `after a sign-out nothing is sent, whoever has signed in`() async throws {
        let cloakroom = try cloakroom(of: "u_1")
        let renewals = try cloakroom.renewals(
            of: AssetCollection([
                .groupImage(url: try #require(URL(string: "https://cdn.example/a.bin")), conversationID: "c")
            ]))
        await cloakroom.schedule.add(ScheduledWork("renewals", every: .seconds(60)) { await renewals.renewIfNeeded() })
        try await cloakroom.signOut(.keepingUnsent)
        let count = await http.lines.count
        #expect(await renewals.renewIfNeeded().error?.code == .tokenUnavailable)
        #expect(await renewals.forceRenewal().error?.code == .tokenUnavailable)
        #expect(await cloakroom.schedule.runDue().isEmpty)
        let photo = try folder.write("a.heic", Data("a photo".utf8))
        #expect(await cloakroom.backup.backUp([photo]).stoppedBy != nil)
        await #expect(throws: CloakroomError.self) { try await cloakroom.credentials.credentials() }
        await #expect(throws: CloakroomError.self) {
            try await cloakroom.uploads.uploadGroupImage(UploadContent("a picture"), conversationID: "c")
        }
        #expect(await http.lines.count == count)
    }

    /// Of all users.
    private func cachedImages() -> [URL] {
        let found = FileManager.default.enumerator(
            at: folder.url.appendingPathComponent("cache"), includingPropertiesForKeys: nil)
        return (found?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "image" }
    }

    @Test func `an image that was asked for before a sign-out is not cached after it`() async throws {
        let gate = Gate()
        let cloakroom = try cloakroom(of: "u_1")
        let images = try cloakroom.images { _ in
            await gate.pass()
            return false
        }
        let image = ImageSource.url(try #require(URL(string: "https://cdn.example/a.bin")))
        let load = Task { try await images.data(for: image) }
        await gate.arrival()
        try await cloakroom.signOut(.keepingUnsent)
        await gate.open()
        await #expect(throws: CloakroomError.cancelled) { try await load.value }
        #expect(cachedImages() == [])
    }

    @Test func `what is loaded after a sign-out is not cached`() async throws {
        let cloakroom = try cloakroom(of: "u_1")
        let images = try cloakroom.images()
        try await cloakroom.signOut(.keepingUnsent)
        let image = ImageSource.url(try #require(URL(string: "https://cdn.example/a.bin")))
        #expect(try await images.data(for: image) == Data("an image".utf8))
        #expect(cachedImages() == [])
    }

    /// A worker whose credentials come when a test says so, and a photo to send with them.
    private func sending(_ gate: Gate) async throws -> Cloakroom {
        let http = ScriptedHTTP { request, _ in
            let response = CloakroomBench.response(to: request)
            return request.url.path.hasSuffix("sts-token") ? .held(gate, response) : response
        }
        let cloakroom = try cloakroom(of: "u_1", http)
        try await cloakroom.outbox().add(photo: try folder.write("a.heic", Data("a photo".utf8)))
        return cloakroom
    }

    private func callers(of cloakroom: Cloakroom) -> Int {
        cloakroom.open.withLock { $0.signOut?.shared.callerCount ?? 0 }
    }

    @Test func `a second sign-out does not keep the first from sending`() async throws {
        let gate = Gate()
        let cloakroom = try await sending(gate)
        let calls = (0..<2).map { _ in
            Task { try await cloakroom.signOut(.afterSending(within: .seconds(20))) }
        }
        await gate.arrival()
        try await until { callers(of: cloakroom) == 2 }
        await gate.open()
        for call in calls {
            let report = try await call.value
            #expect(report.sent == 1 && report.kept.isEmpty)
        }
    }

    @Test func `a sign-out with another choice has its turn after the first`() async throws {
        let gate = Gate()
        let cloakroom = try await sending(gate)
        let first = Task { try await cloakroom.signOut(.afterSending(within: .seconds(20))) }
        await gate.arrival()
        let second = Task { try await cloakroom.signOut(.discardingUnsent) }
        try await until { callers(of: cloakroom) == 2 }
        first.cancel()
        await #expect(throws: CloakroomError.self) { try await first.value }
        await gate.open()
        let report = try await second.value
        #expect(report.removed.isEmpty && report.kept.isEmpty)
    }

    @Test func `a sign-out whose only caller is cancelled sends nothing more, and ends`() async throws {
        let cloakroom = try await sending(Gate())
        let call = Task { try await cloakroom.signOut(.afterSending(within: .seconds(20))) }
        try await until { callers(of: cloakroom) == 1 }
        call.cancel()
        #expect(try await call.value.kept.items == 1)
        #expect(try await cloakroom.signOut(.discardingUnsent).removed.count == 1)
    }

    @Test func `credentials that stay in their store are an error, and all the rest is done`() async throws {
        let store = LockedStore()
        var configuration = try bench.configuration()
        configuration.credentialStore = { _, _ in store }
        let cloakroom = try Cloakroom(configuration: configuration, user: "u_1") { _ in "token" }
        let images = try cloakroom.images()
        _ = try await images.data(for: .url(try #require(URL(string: "https://cdn.example/a.bin"))))
        _ = try await cloakroom.credentials.credentials()
        try await until { await store.record != nil }
        await #expect(throws: CloakroomError(.storeFailed, "locked")) {
            try await cloakroom.signOut(.keepingUnsent)
        }
        #expect(await images.cachedBytes == 0)
        await store.unlock()
        try await cloakroom.signOut(.keepingUnsent)
        #expect(await store.record == nil)
    }

    @Test func `what a sign-out did before its credentials stayed is in the report of the next call`() async throws {
        let store = LockedStore()
        var configuration = try bench.configuration()
        configuration.credentialStore = { _, _ in store }
        let cloakroom = try Cloakroom(configuration: configuration, user: "u_1") { _ in "token" }
        let outbox = try cloakroom.outbox()
        try await outbox.add(photo: try folder.write("a.heic", Data("a photo".utf8)))
        await #expect(throws: CloakroomError(.storeFailed, "locked")) {
            try await cloakroom.signOut(.discardingUnsent)
        }
        await store.unlock()
        let report = try await cloakroom.signOut(.discardingUnsent)
        #expect(report.removed.count == 1 && report.kept.isEmpty)
        #expect(try await cloakroom.signOut(.discardingUnsent).removed == [])
    }

    @Test func `a call that joins a sign-out has its carrier's transfers ended`() async throws {
        let carrier = FakeCarrier(FakeS3())
        do {
            let outbox = try cloakroom(of: "u_1").outbox(carrier: carrier)
            try await outbox.add(photo: try folder.write("a.heic", Data("a photo".utf8)))
            try await carrier.takes(1, of: outbox)
        }
        await carrier.relaunch()
        #expect(await carrier.underWay.count == 1)
        let store = GatedStore()
        var configuration = try bench.configuration()
        configuration.credentialStore = { _, _ in store }
        let cloakroom = try Cloakroom(configuration: configuration, user: "u_1") { _ in "token" }
        let first = Task { try await cloakroom.signOut(.keepingUnsent) }
        await store.gate.arrival()
        let second = Task { try await cloakroom.signOut(.keepingUnsent, carrier: carrier) }
        try await until { callers(of: cloakroom) == 2 }
        await store.gate.open()
        for call in [first, second] { #expect(try await call.value.kept.items == 1) }
        #expect(await carrier.underWay.isEmpty)
    }

    @Test func `no part is made once a sign-out has begun, nor after it`() async throws {
        let store = GatedStore()
        var configuration = try bench.configuration()
        configuration.credentialStore = { _, _ in store }
        let cloakroom = try Cloakroom(configuration: configuration, user: "u_1") { _ in "token" }
        _ = try cloakroom.outbox()
        let signOut = Task { try await cloakroom.signOut(.keepingUnsent) }
        // The queue has ended, and the credentials are still in their store.
        await store.gate.arrival()
        makesNoPart(cloakroom)
        await store.gate.open()
        _ = try await signOut.value
        makesNoPart(cloakroom)
        #expect(try await self.cloakroom(of: "u_1").outbox().unsent().isEmpty)
    }

    private func makesNoPart(_ cloakroom: Cloakroom) {
        let parts: [() throws -> Void] = [
            { _ = try cloakroom.outbox() }, { _ = try cloakroom.images() },
            { _ = try cloakroom.renewals(of: AssetCollection([])) },
            { _ = try cloakroom.backup(of: FolderPhotoSource(folder.url)) },
        ]
        for part in parts {
            let error = #expect(throws: CloakroomError.self) { try part() }
            #expect(error?.code == .tokenUnavailable)
        }
    }

    @Test func `work of the schedule may sign the user out`() async throws {
        let cloakroom = try cloakroom(of: "u_1")
        _ = try cloakroom.outbox()
        let reports = Log<OutboxSignOutReport>()
        await cloakroom.schedule.add(
            ScheduledWork("check", every: .seconds(60)) {
                reports.append(try await cloakroom.signOut(.afterSending(within: .seconds(20))))
            })
        #expect(await cloakroom.schedule.runDue().map(\.error) == [nil])
        #expect(reports.all == [OutboxSignOutReport()])
    }
}

/// It loads and saves, and cannot be cleared, as a keychain that is locked.
private actor LockedStore: CredentialStore {
    private(set) var record: StoredCredentials?
    private var isLocked = true

    func unlock() { isLocked = false }
    func load() -> StoredCredentials? { record }
    func save(_ credentials: StoredCredentials) { record = credentials }

    func clear() throws {
        if isLocked { throw CloakroomError(.storeFailed, "locked") }
        record = nil
    }
}
