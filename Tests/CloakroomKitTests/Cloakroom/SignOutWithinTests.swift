import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// A sign-out called by what it ends, such as an app's token provider that is told of a revoked session.
@Suite(.timeLimit(.minutes(1))) struct SignOutWithinTests {
    private let service: CloakroomBench

    init() throws { service = try CloakroomBench() }

    /// A worker that does something first.
    private struct ActingWorker: PresignedUploader, AssetRenewer {
        let act: @Sendable () async throws -> Void

        func requestUpload(contentType: String, byteCount: Int64?) async throws -> UploadTarget {
            try await act()
            throw CloakroomError(.sessionRevoked, "signed out")
        }

        func upload(_ body: HTTPBody, to target: UploadTarget) {}
        func renewAssets(keys: [String]) -> [RenewalResult] { [] }
    }

    /// An outbox whose worker does something while a photo of many parts is under way.
    private func outbox(
        _ bench: OutboxFixture, _ gate: Gate, act: @escaping @Sendable (Outbox) async throws -> Void
    ) async throws -> Outbox {
        let reference = Reference()
        var options = Outbox.Options()
        options.largestPut = 40
        options.bytesAtOnce = 1000
        let outbox = try Outbox(
            folder: bench.root, owner: .test, photos: bench.client(),
            assets: ActingWorker {
                await gate.arrival(of: 2)
                if let outbox = reference.outbox.withLock({ $0 }) { try await act(outbox) }
            },
            carrier: TransportCarrier(transport: bench.network, runtime: bench.fake.runtime), options: options,
            runtime: bench.fake.runtime)
        reference.outbox.withLock { $0 = outbox }
        await bench.network.inject("PUT", .held(gate), times: 9)
        try await outbox.add(photo: try bench.photo(String(repeating: "large ", count: 20)))
        try await outbox.add(asset: UploadContent("a picture"), reference: "a")
        return outbox
    }

    private final class Reference: Sendable {
        let outbox = Locked<Outbox?>(nil)
    }

    @Test func `a sign-out by one of the transfers returns when all others have ended`() async throws {
        let bench = try OutboxFixture()
        let left = Log<Int?>()
        let outbox = try await outbox(bench, Gate()) { outbox in
            try await outbox.signOut(.keepingUnsent)
            left.append(await outbox.run?.active.count)
        }
        #expect(await outbox.run().stoppedBy?.code == .cancelled)
        #expect(left.all == [1])
        #expect(try await bench.outbox().unsent().items == 2)
    }

    @Test func `what called a sign-out changes nothing of what the next outbox keeps`() async throws {
        let bench = try OutboxFixture()
        let next = Log<Outbox>()
        let outbox = try await outbox(bench, Gate()) { outbox in
            try await outbox.signOut(.keepingUnsent)
            next.append(try bench.outbox())
        }
        await outbox.run()
        let states = try await #require(next.all.first).items().map(\.state)
        #expect(states == [.waiting(until: nil, after: nil), .waiting(until: nil, after: nil)])
    }

    @Test func `a pause by one of the transfers returns when all others have ended`() async throws {
        let bench = try OutboxFixture()
        let left = Log<Int?>()
        let outbox = try await outbox(bench, Gate()) { outbox in
            try await outbox.pause()
            left.append(await outbox.run?.active.count)
        }
        #expect(await outbox.run().sent == 0)
        #expect(left.all == [1])
    }

    /// An app whose worker says that the session was revoked.
    private func revoked(_ app: SigningOut, store: GatedStore = GatedStore(isOpen: true)) async throws -> (
        Cloakroom, Outbox
    ) {
        var configuration = try service.configuration(
            ScriptedHTTP { _, _ in .json(401, #"{"error":"Session revoked","code":"session_revoked"}"#) })
        configuration.credentialStore = { _, _ in store }
        let cloakroom = try Cloakroom(configuration: configuration, user: "u_1", tokens: app)
        app.cloakroom.withLock { $0 = cloakroom }
        let outbox = try cloakroom.outbox()
        try await outbox.add(asset: UploadContent("a picture"), reference: "a")
        try await outbox.add(photo: try service.folder.write("a.heic", Data("a photo".utf8)))
        return (cloakroom, outbox)
    }

    @Test func `a sign-out by the token provider waits for what called it`() async throws {
        let left = Log<Bool>()
        let app = SigningOut { cloakroom in
            _ = try? await cloakroom.signOut(.keepingUnsent)
            left.append(await cloakroom.open.withLock { $0.signedOut }?.run == nil)
        }
        let (_, outbox) = try await revoked(app)
        let report = await outbox.run()
        #expect(report.sent == 0)
        try await until { left.all == [true] }
    }

    @Test func `a token provider that waits for the app's own sign-out keeps it from nothing`() async throws {
        let asked = Gate()
        let signOut = Log<Task<OutboxSignOutReport, any Error>>()
        let app = SigningOut { _ in
            await asked.open()
            while signOut.all.isEmpty { await Task.yield() }
            _ = try? await signOut.all[0].value
        }
        let (cloakroom, outbox) = try await revoked(app)
        let run = Task { await outbox.run() }
        signOut.append(
            Task {
                await asked.pass()
                return try await cloakroom.signOut(.keepingUnsent)
            })
        #expect(try await signOut.all[0].value.kept.items == 2)
        _ = await run.value
    }

    @Test func `a sign-out that sends first ends when the session turns out to be revoked`() async throws {
        let app = SigningOut { cloakroom in _ = try? await cloakroom.signOut(.keepingUnsent) }
        let (cloakroom, outbox) = try await revoked(app)
        let sending = Task { await outbox.keepSending() }
        let report = try? await cloakroom.signOut(.afterSending(within: .seconds(600)))
        #expect(report?.stoppedBy?.code != .timedOut)
        sending.cancel()
        await sending.value
    }

    @Test func `a sign-out that sends first ends when the token provider signs the user out`() async throws {
        let cloakroom = Locked<Cloakroom?>(nil)
        let configuration = try service.configuration()
        let signingOut = try Cloakroom(configuration: configuration, user: "u_1") { _ in
            _ = try? await cloakroom.withLock { $0 }?.signOut(.keepingUnsent)
            throw CloakroomError(.tokenUnavailable, "signed out")
        }
        cloakroom.withLock { $0 = signingOut }
        let outbox = try signingOut.outbox()
        try await outbox.add(asset: UploadContent("a picture"), reference: "a")
        let report = try? await signingOut.signOut(.afterSending(within: .seconds(600)))
        #expect(report?.kept.items ?? 1 == 1)
        #expect(await service.http.lines.isEmpty)
    }

    @Test func `a sign-out that keeps what is unsent ends one that is to send, while that waits for scheduled work`()
        async throws
    {
        let cloakroom = try service.cloakroom()
        let outbox = try cloakroom.outbox()
        try await outbox.add(photo: try service.folder.write("a.heic", Data("a photo".utf8)))
        let gate = Gate()
        await cloakroom.schedule.add(
            // It ends when it likes.
            ScheduledWork("slow", every: .seconds(60)) { await Task { _ = await gate.pass() }.value })
        let work = Task { await cloakroom.schedule.runDue() }
        await gate.arrival()
        let sending = Task { try await cloakroom.signOut(.afterSending(within: .seconds(600))) }
        try await until { cloakroom.open.withLock { $0.signOut != nil } }
        let keeping = Task { try await cloakroom.signOut(.keepingUnsent) }
        try await until { cloakroom.open.withLock { $0.signOut?.isCutShort } == true }
        await gate.open()
        #expect(try await sending.value.stoppedBy?.code == .cancelled)
        #expect(try await keeping.value.kept.items == 1)
        #expect(await service.http.lines.isEmpty)
        _ = await work.value
    }

    @Test func `a call joins a sign-out by the token provider, and has its report`() async throws {
        let store = GatedStore()
        let app = SigningOut { cloakroom in _ = try? await cloakroom.signOut(.discardingUnsent) }
        let (cloakroom, outbox) = try await revoked(app, store: store)
        let run = Task { await outbox.run() }
        await store.gate.arrival()
        let joined = Task { try await cloakroom.signOut(.discardingUnsent) }
        try await until { cloakroom.open.withLock { $0.signOut?.shared.callerCount } ?? 0 == 2 }
        await store.gate.open()
        #expect(try await joined.value.removed.count == 2)
        _ = await run.value
    }
}

/// An app that does something when its session is revoked.
private final class SigningOut: TokenProvider {
    let cloakroom = Locked<Cloakroom?>(nil)
    private let act: @Sendable (Cloakroom) async -> Void

    init(_ act: @escaping @Sendable (Cloakroom) async -> Void) { self.act = act }

    func token() -> String { "token" }
    func token(ofUser userID: String) -> String { "token" }

    func sessionRevoked(_ token: String) async {
        if let cloakroom = cloakroom.withLock({ $0 }) { await act(cloakroom) }
    }
}

/// A store that takes its time to be cleared.
actor GatedStore: CredentialStore {
    let gate: Gate

    init(isOpen: Bool = false) { gate = Gate(isOpen: isOpen) }

    func load() -> StoredCredentials? { nil }
    func save(_ credentials: StoredCredentials) {}

    func clear() async {
        let gate = gate
        await Task { _ = await gate.pass() }.value
    }
}
