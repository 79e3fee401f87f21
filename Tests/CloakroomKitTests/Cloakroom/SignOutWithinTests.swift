import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// A sign-out called by what it ends, such as an app's token provider that is told of a revoked session.
@Suite(.timeLimit(.minutes(1))) struct SignOutWithinTests {
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

    @Test func `a sign-out by a transfer is joined until that transfer, too, has ended`() async throws {
        let bench = try CloakroomBench()
        let (store, end) = (GatedStore(), Gate())
        let app = SigningOut(end)
        var configuration = try bench.configuration(
            ScriptedHTTP { _, _ in .json(401, #"{"error":"Session revoked","code":"session_revoked"}"#) })
        configuration.credentialStore = { _, _ in store }
        let cloakroom = try Cloakroom(configuration: configuration, user: "u_1", tokens: app)
        app.cloakroom.withLock { $0 = cloakroom }
        let outbox = try cloakroom.outbox()
        try await outbox.add(asset: UploadContent("a picture"), reference: "a")
        let run = Task { await outbox.run() }
        await store.gate.arrival()
        let joined = Task {
            try await cloakroom.signOut(.keepingUnsent)
            return await outbox.run == nil
        }
        try await Task.sleep(for: .milliseconds(50))
        await store.gate.open()
        try await Task.sleep(for: .milliseconds(50))
        await end.open()
        #expect(try await joined.value)
        #expect(await run.value.sent == 0)
    }
}

/// An app that signs out when its session is revoked, and is not done then.
private final class SigningOut: TokenProvider {
    let cloakroom = Locked<Cloakroom?>(nil)
    private let end: Gate

    init(_ end: Gate) { self.end = end }

    func token() -> String { "token" }
    func token(ofUser userID: String) -> String { "token" }

    func sessionRevoked(_ token: String) async {
        _ = try? await cloakroom.withLock { $0 }?.signOut(.keepingUnsent)
        let end = end
        // Whether it is cancelled or not.
        await Task { _ = await end.pass() }.value
    }
}

/// A store that takes its time to be cleared.
actor GatedStore: CredentialStore {
    let gate = Gate()

    func load() -> StoredCredentials? { nil }
    func save(_ credentials: StoredCredentials) {}

    func clear() async {
        let gate = gate
        await Task { _ = await gate.pass() }.value
    }
}
