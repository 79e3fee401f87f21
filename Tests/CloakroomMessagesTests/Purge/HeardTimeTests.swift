import CloakroomAWS
import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomMessages

/// The server's time becomes known, or is corrected, while ``MessageRetention/run()`` sleeps.
@Suite struct HeardTimeTests {
    /// A worker that has nothing to say but what time it is.
    private final class TimedWorker: HTTPTransport {
        private let ahead = Mutex<TimeInterval>(0)

        func set(ahead: TimeInterval) { self.ahead.withLock { $0 = ahead } }

        func send(
            _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
        ) async throws(HTTPTransportError) -> HTTPResponse {
            let date = Date().addingTimeInterval(ahead.withLock { $0 })
            return HTTPResponse(status: 404, fields: [("Date", Timestamp(date).http)])
        }
    }

    /// An app with a client, which has the library read the device's own clocks.
    private final class Phone {
        let worker = TimedWorker()
        let client: CloakroomClient
        let handler = RecordingHandler()
        let retention: MessageRetention
        private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "messages-\(UUID().uuidString)", isDirectory: true)

        init() async throws {
            client = CloakroomClient(endpoint: URL(string: "https://api.example.com")!, transport: worker) { "token" }
            let storage = try await SQLiteMessageStorage(folder: folder, vault: MemoryVault())
            retention = try await MessageRetention(
                of: RetentionFixture.own, storage: storage, client: client, handlers: [handler])
            try await retention.updateRetentionPolicy(
                .oneHour, in: RetentionFixture.conversation, applyingTo: .newMessages)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func admit(_ id: String, relayTime: Date? = nil) async throws {
            let admission = try await retention.admit(
                IncomingMessage(
                    id: try id.asMessage,
                    sender: AuthenticatedSender(RetentionFixture.peer, in: RetentionFixture.conversation),
                    stamp: MessageStamp(policy: .keep), relayTime: relayTime, body: RetentionFixture.body(id)))
            guard case .kept(until: .some) = admission else { throw WaitingError() }
        }

        /// A request of another part of the app.
        func send() async { _ = try? await client.renewAssets(keys: ["a.bin"]) }

        /// - Returns: when it sleeps.
        func run() async throws -> Task<Void, Never> {
            let run = Task { [retention] in await retention.run() }
            try await until { await retention.sleeps.count == 1 }
            return run
        }
    }

    @Test func `what is over by a time that only the app's client has heard is purged`() async throws {
        let phone = try await Phone()
        // As far as is known, it is no later than that.
        try await phone.admit("m1", relayTime: Date().addingTimeInterval(-7200))
        let run = try await phone.run()
        #expect(phone.handler.ids == [])
        await phone.send()
        try await until { phone.handler.ids == ["m1"] }
        run.cancel()
        await run.value
    }

    @Test func `what is over by a later time than the client heard first is purged`() async throws {
        let phone = try await Phone()
        await phone.send()
        try await phone.admit("m1")
        let run = try await phone.run()
        phone.worker.set(ahead: 7200)
        await phone.send()
        try await until { phone.handler.ids == ["m1"] }
        run.cancel()
        await run.value
    }

    @Test(arguments: [-7200, 1800])
    func `a sleep is as long as the server's time says now, whichever way that is corrected`(seconds: Int) async throws
    {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        try await device.admit("m1")
        let run = Task { [retention = device.retention] in await retention.run() }
        try await until { device.interruption.sleeps == [.seconds(3600)] }
        device.clocks.hearServer(ahead: .seconds(seconds))
        try await until { device.interruption.sleeps == [.seconds(3600), .seconds(3600 - seconds)] }
        #expect(device.handler.ids == [])
        run.cancel()
        await run.value
    }

    @Test func `the server's time wakes all who wait until they are cancelled, and keeps none of them`() async throws {
        let device = try await RetentionFixture(server: false)
        let corrections = device.clocks.corrections
        #expect(corrections.readerCount == 0)
        let runs = (0..<2).map { _ in Task { [retention = device.retention] in await retention.run() } }
        try await until { await device.retention.sleeps.count == 2 }
        #expect(corrections.readerCount == 2)
        let former = Set(await device.retention.sleeps.keys)
        device.clocks.hearServer()
        try await until {
            let sleeps = Set(await device.retention.sleeps.keys)
            return sleeps.count == 2 && sleeps.isDisjoint(with: former)
        }
        for (index, run) in runs.enumerated() {
            run.cancel()
            await run.value
            #expect(corrections.readerCount == 1 - index)
        }
        let changes = await device.retention.changes
        device.clocks.hearServer(ahead: .seconds(3600))
        #expect(await device.retention.changes == changes)
    }
}
