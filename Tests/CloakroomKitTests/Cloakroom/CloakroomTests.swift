import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct CloakroomTests {
    private let bench: CloakroomBench
    private var folder: TemporaryFolder { bench.folder }
    /// Vends, and has what is read with the credentials.
    private var http: ScriptedHTTP { bench.http }

    init() throws { bench = try CloakroomBench() }

    private func configuration() throws -> Cloakroom.Configuration { try bench.configuration() }

    private func cloakroom(of user: String, _ http: ScriptedHTTP? = nil) throws -> Cloakroom {
        try bench.cloakroom(of: user, http)
    }

    private func connected(_ http: ScriptedHTTP) async throws -> Cloakroom {
        try await .connected(
            configuration: bench.configuration(http), user: "u_1", tokens: ClosureTokenProvider { "token" })
    }

    @Test func `making one sends nothing`() async throws {
        _ = try cloakroom(of: "u_1")
        #expect(await http.lines == [])
    }

    @Test func `credentials survive a restart, and only for their user`() async throws {
        let first = try cloakroom(of: "u_1")
        _ = try await first.credentials.credentials()
        // It is written after callers have theirs.
        let file = first.folder.appendingPathComponent("credentials/credentials.sealed").path
        try await until { FileManager.default.fileExists(atPath: file) }
        _ = try await cloakroom(of: "u_1").credentials.credentials()
        #expect(await http.lines.count == 1)
        _ = try await cloakroom(of: "u_2").credentials.credentials()
        #expect(await http.lines.count == 2)
    }

    @Test func `an app has credentials where it wants them, and hears when they cannot be read or kept`() async throws {
        let failures = Log<CloakroomError.Code>()
        var configuration = try configuration()
        configuration.onStoreFailure = { failures.append($0.code) }
        for error in [nil, CloakroomError(.storeFailed, "locked")] {
            let store = MemoryStore(error: error)
            configuration.credentialStore = { _, _ in store }
            let cloakroom = try Cloakroom(configuration: configuration, user: "u_1") { _ in "token" }
            _ = try? await cloakroom.credentials.credentials()
            try await until { await store.calls.contains("save") }
            try await until { await (store.record != nil) == (error == nil) }
        }
        try await until { failures.all == [.storeFailed, .storeFailed] }
    }

    @Test func `each user has a folder that nobody else can enter`() throws {
        let first = try cloakroom(of: "u_1")
        let second = try cloakroom(of: "u_2")
        #expect(first.folder != second.folder)
        #expect(try cloakroom(of: "u_1").folder == first.folder)
        for folder in [first.folder, second.folder] {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
            #expect(mode == 0o700)
            #expect(!folder.path.contains("u_1") && !folder.path.contains("u_2"))
        }
    }

    @Test func `a photo is backed up to the user's folder`() async throws {
        let photo = try folder.write("pictures/a.heic", Data("a photo".utf8))
        let report = try await cloakroom(of: "u_1").backup.backUp([photo])
        #expect(report.failures == [] && report.stoppedBy == nil)
        let put = try #require(await http.sent.first { $0.request.method == "PUT" })
        #expect(put.request.url.path.contains("photos/u_1/"))
    }

    @Test func `backups have the options of the configuration`() throws {
        var configuration = try configuration()
        configuration.backupOptions.recheckInterval = .seconds(7 * 86_400)
        let cloakroom = try Cloakroom(configuration: configuration, user: "u_1") { _ in "token" }
        #expect(cloakroom.backup.options.recheckInterval == .seconds(7 * 86_400))
    }

    @Test func `a source of photos has files of its own`() async throws {
        try folder.write("pictures/a.heic", Data("a photo".utf8))
        let cloakroom = try cloakroom(of: "u_1")
        let source = FolderPhotoSource(folder.url.appendingPathComponent("pictures"))
        _ = try cloakroom.backup(of: source)
        _ = try cloakroom.backup(of: source, named: "scans")
        let names = try FileManager.default.contentsOfDirectory(atPath: cloakroom.folder.path)
        #expect(names.contains("source-library.sqlite") && names.contains("source-scans.sqlite"))
        #expect {
            try cloakroom.backup(of: source, named: "../scans")
        } throws: { ($0 as? CloakroomError)?.code == .invalidRequest }
    }

    @Test func `a name that no user has is refused`() {
        #expect {
            try cloakroom(of: "../u_2")
        } throws: { ($0 as? CloakroomError)?.code == .invalidRequest }
    }

    @Test func `images are renewed by the configuration's base URLs`() async throws {
        let http = ScriptedHTTP(.json(200, #"{"renewed":1,"failed":0,"results":[{"key":"a.bin","success":true}]}"#))
        let url = try #require(URL(string: "https://cdn.example/a.bin"))
        let renewals = try cloakroom(of: "u_1", http).renewals(
            of: AssetCollection([.groupImage(url: url, conversationID: "c")]))
        let report = await renewals.renewIfNeeded()
        #expect(report.renewed == 1)
        #expect(await http.lines.count == 1)
    }

    // MARK: Prefixes

    private static let elsewhere = #","userId":"u_1","prefixes":{"photos":"eu/u_1/originals/"}"#

    @Test func `photos are where the worker's credentials open the bucket`() async throws {
        let http = CloakroomBench.service(vended: Self.elsewhere)
        let cloakroom = try await connected(http)
        #expect(cloakroom.layout.photos == "eu/u_1/originals/")
        let backedUp = try folder.write("a.heic", Data("a photo".utf8))
        #expect(await cloakroom.backup.backUp([backedUp]).failures == [])
        let outbox = try cloakroom.outbox()
        try await outbox.add(photo: try folder.write("b.heic", Data("another".utf8)))
        #expect(await outbox.run().sent == 1)
        let puts = await http.sent.map(\.request).filter { $0.method == "PUT" }
        #expect(puts.count == 2)
        #expect(puts.allSatisfy { $0.url.path.contains("/eu/u_1/originals/") })
    }

    @Test func `an app that starts without a network has the layout of the last time`() async throws {
        let first = try await connected(CloakroomBench.service(vended: Self.elsewhere))
        await first.credentials.forget()
        let offline = ScriptedHTTP { _, _ in .failure(.unreachable) }
        #expect(try await connected(offline).layout == first.layout)
    }

    @Test(arguments: ["storage_quota_exceeded", "subscription_required"])
    func `who gets no credentials for now has the layout of the last time`(code: String) async throws {
        let first = try await connected(CloakroomBench.service(vended: Self.elsewhere))
        await first.credentials.forget()
        let refusing = ScriptedHTTP { _, _ in .json(403, #"{"error":"no","code":"\#(code)"}"#) }
        #expect(try await connected(refusing).layout == first.layout)
        let disabled = ScriptedHTTP { _, _ in .json(403, #"{"error":"no","code":"user_disabled"}"#) }
        await #expect {
            _ = try await connected(disabled)
        } throws: { ($0 as? CloakroomError)?.code == .userDisabled }
    }

    @Test func `renewals want to know where the images are`() throws {
        var configuration = try configuration()
        configuration.assetBaseURLs = []
        let cloakroom = try Cloakroom(
            configuration: configuration, user: "u_1", tokens: ClosureTokenProvider { "token" })
        #expect {
            _ = try cloakroom.renewals(of: AssetCollection([]))
        } throws: { ($0 as? CloakroomError)?.code == .invalidRequest }
    }

    @Test func `the layout of the last time does not hide another user's credentials`() async throws {
        _ = try await connected(CloakroomBench.service(vended: Self.elsewhere)).credentials.forget()
        let another = CloakroomBench.service(vended: #","userId":"u_2","prefixes":{"photos":"photos/u_2/"}"#)
        await #expect {
            _ = try await connected(another)
        } throws: { ($0 as? CloakroomError)?.code == .storeOwnerMismatch }
    }

    @Test func `without a network and a last time there is no layout`() async {
        let offline = ScriptedHTTP { _, _ in .failure(.unreachable) }
        await #expect {
            _ = try await connected(offline)
        } throws: { ($0 as? CloakroomError)?.code == .unreachable }
    }

    @Test func `credentials of another user store nothing`() async throws {
        let http = CloakroomBench.service(vended: #","userId":"u_2","prefixes":{"photos":"photos/u_2/"}"#)
        await #expect {
            _ = try await connected(http)
        } throws: { ($0 as? CloakroomError)?.code == .storeOwnerMismatch }
        let outbox = try cloakroom(of: "u_1", http).outbox()
        try await outbox.add(photo: try folder.write("a.heic", Data("a photo".utf8)))
        let report = await outbox.run()
        #expect(report.stoppedBy?.code == .storeOwnerMismatch)
        #expect(report.unsent.items == 1 && report.unsent.failed == 0)
        #expect(await http.sent.allSatisfy { $0.request.method != "PUT" })
    }

    @Test(arguments: [NetworkAccess.unrestricted, .inexpensive])
    func `a large photo of the queue goes over the networks that the queue may use`(network: NetworkAccess) async throws
    {
        let others = ScriptedHTTP { request, _ in CloakroomBench.response(to: request, vended: "") }
        var configuration = try configuration()
        configuration.backgroundTransport = others
        let cloakroom = try Cloakroom(configuration: configuration, user: "u_1") { _ in "token" }
        var options = Outbox.Options()
        options.conditions.network = network
        options.largestPut = 1
        let outbox = try cloakroom.outbox(conditions: UnrestrictedConditions(), options: options)
        try await outbox.add(photo: try folder.write("a.heic", Data("a photo".utf8)))
        #expect(await outbox.run().sent == 1)
        let isRestricted = network != .unrestricted
        #expect(await http.lines.count { $0.contains("PUT") } == (isRestricted ? 0 : 1))
        #expect(await others.lines.count { $0.contains("PUT") } == (isRestricted ? 1 : 0))
    }

    // MARK: The queue of an earlier version

    private func formerOutbox(of cloakroom: Cloakroom) throws -> Outbox {
        try Outbox(
            folder: cloakroom.outboxPlace.formerFolder, owner: cloakroom.owner, photos: cloakroom.objects,
            assets: cloakroom.client)
    }

    private func photo(_ name: String) throws -> URL { try folder.write("\(name).heic", Data(name.utf8)) }

    @Test func `a queue of an earlier version goes on outside of the user's folder, which is in no backup`()
        async throws
    {
        let cloakroom = try cloakroom(of: "u_1")
        do { try await formerOutbox(of: cloakroom).add(photo: photo("a")) }
        let outbox = try cloakroom.outbox()
        #expect(await !outbox.folder.url.path.hasPrefix(cloakroom.folder.path))
        #expect(await outbox.run().sent == 1)
        #expect(cloakroom.outboxPlace.found() == cloakroom.outboxPlace.folder)
    }

    @Test func `a sign-out ends a queue that an earlier version has left, and the next session goes on with it`()
        async throws
    {
        let cloakroom = try cloakroom(of: "u_1")
        do { try await formerOutbox(of: cloakroom).add(photo: photo("a")) }
        #expect(try await cloakroom.signOut(.keepingUnsent).kept.items == 1)
        #expect(try await self.cloakroom(of: "u_1").outbox().unsent().items == 1)
    }

    @Test func `a queue of an earlier version that is open is not moved`() async throws {
        let cloakroom = try cloakroom(of: "u_1")
        let former = try formerOutbox(of: cloakroom)
        #expect {
            try cloakroom.outbox()
        } throws: { ($0 as? CloakroomError)?.code == .storeInUse }
        try await former.add(photo: photo("a"))
        #expect(try await former.unsent().items == 1)
    }

    /// As an app that has gone back to an earlier version leaves it.
    private func makeBothQueues() async throws {
        do { try await cloakroom(of: "u_1").outbox().add(photo: photo("a")) }
        do { try await formerOutbox(of: cloakroom(of: "u_1")).add(photo: photo("b")) }
    }

    @Test func `where an app has gone back to an earlier version, both queues are sent, one after the other`()
        async throws
    {
        try await makeBothQueues()
        for _ in 0..<2 {
            let outbox = try cloakroom(of: "u_1").outbox()
            #expect(await outbox.run().sent == 1)
            try await outbox.signOut(.keepingUnsent)
        }
        let puts = await http.sent.map(\.request).filter { $0.method == "PUT" }
        #expect(Set(puts.map(\.url.path)).count == 2)
    }

    @Test(arguments: [true, false])
    func `a sign-out discards both queues of an app that has gone back to an earlier version`(isOpened: Bool)
        async throws
    {
        try await makeBothQueues()
        let cloakroom = try cloakroom(of: "u_1")
        if isOpened { _ = try cloakroom.outbox() }
        let report = try await cloakroom.signOut(.discardingUnsent)
        #expect(report.removed.count == 2 && report.kept.isEmpty)
        #expect(try await self.cloakroom(of: "u_1").outbox().unsent().isEmpty)
        #expect(try await formerOutbox(of: self.cloakroom(of: "u_1")).unsent().isEmpty)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func `a sign-out sends both queues of an app that has gone back to an earlier version`(isOpened: Bool) async throws
    {
        try await makeBothQueues()
        let cloakroom = try cloakroom(of: "u_1")
        if isOpened { _ = try cloakroom.outbox() }
        let report = try await cloakroom.signOut(.afterSending(within: .seconds(20)))
        #expect(report.sent == 2 && report.kept.isEmpty && report.stoppedBy == nil)
        let puts = await http.sent.map(\.request).filter { $0.method == "PUT" }
        #expect(Set(puts.map(\.url.path)).count == 2)
    }

    @Test(.timeLimit(.minutes(1))) func `a sign-out that sends two queues has one time for both, and keeps the rest`()
        async throws
    {
        try await makeBothQueues()
        let gate = Gate()
        let held = ScriptedHTTP { request, _ in
            let response = CloakroomBench.response(to: request)
            return request.method == "PUT" ? .held(gate, response) : response
        }
        let fake = FakeRuntime(time: Int(Date().timeIntervalSince1970), sleeping: .waits)
        var configuration = try bench.configuration(held)
        configuration.runtime = fake.runtime
        let cloakroom = try Cloakroom(configuration: configuration, user: "u_1") { _ in "token" }
        let signOut = Task { try await cloakroom.signOut(.afterSending(within: .seconds(30))) }
        await gate.arrival()
        try await until { fake.sleeps.contains(.seconds(30)) }
        fake.pass(.seconds(30))
        let report = try await signOut.value
        #expect(report.sent == 0 && report.kept.items == 2 && report.stoppedBy?.code == .timedOut)
        #expect(fake.elapsed == .seconds(30))
    }

    @Test func `one queue of uploads is open at a time`() throws {
        let cloakroom = try cloakroom(of: "u_1")
        let outbox = try cloakroom.outbox()
        #expect {
            try cloakroom.outbox()
        } throws: { ($0 as? CloakroomError)?.code == .storeInUse }
        withExtendedLifetime(outbox) {}
    }
}
