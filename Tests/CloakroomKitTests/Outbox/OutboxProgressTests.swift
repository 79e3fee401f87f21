import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct OutboxProgressTests {
    @Test func `shows each transfer and the sum, and what has failed apart from it`() async throws {
        let bench = try OutboxFixture()
        let outbox = try bench.outbox()
        var states = await outbox.states().makeAsyncIterator()
        #expect(await states.next()?.unsent.isEmpty == true)
        let gate = Gate()
        await bench.network.inject("PUT", .held(gate))
        await bench.worker.fail(CloakroomError(.contentTypeNotAllowed, "no"))
        let id = try await outbox.add(photo: try bench.photo("eight888"))
        try await outbox.add(asset: UploadContent("four"), reference: "a")
        async let report = outbox.run()
        await gate.arrival()
        var state = OutboxState()
        while state.unsent.failed == 0 || state.progress.bytesDone == 0 { state = try #require(await states.next()) }
        #expect(state.isRunning && state.sending.map(\.id) == [id])
        #expect(state.sending.map(\.state) == [.sending(TransferProgress(bytesDone: 2, bytesTotal: 8))])
        #expect(state.progress == TransferProgress(bytesDone: 2, bytesTotal: 8))
        await gate.open()
        _ = await report
        state = try #require(await states.next())
        #expect(!state.isRunning && state.sending == [] && state.itemsDone == 1)
        #expect(state.progress == TransferProgress(bytesDone: 8, bytesTotal: 8))
    }

    @Test func `a model for views follows it until the user signs out`() async throws {
        let bench = try OutboxFixture()
        let outbox = try bench.outbox()
        let model = await OutboxModel(outbox: outbox)
        async let end: Void = model.follow()
        try await outbox.add(photo: try bench.photo("one"))
        try await until { await model.state.unsent.items == 1 }
        try await outbox.pause()
        try await until { await model.state.isPaused }
        try await outbox.signOut(.keepingUnsent)
        await end
    }

    @Test func `goes on by itself when something is added or due, until it is cancelled`() async throws {
        let bench = try OutboxFixture(sleeping: .waits)
        let outbox = try bench.outbox()
        let task = Task { await outbox.keepSending() }
        try await until { bench.fake.sleeps.count == 1 }
        await bench.network.inject("PUT", .failure(.interrupted))
        try await outbox.add(photo: try bench.photo("one"))
        try await until { bench.fake.sleeps.count == 2 }
        #expect(await bench.s3.objects.isEmpty)
        bench.fake.pass(.seconds(2))
        try await until { await bench.s3.objects.count == 1 }
        task.cancel()
        await task.value
    }
}
