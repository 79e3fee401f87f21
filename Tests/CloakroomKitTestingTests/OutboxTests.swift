import CloakroomKit
import CloakroomKitTesting
import Foundation
import Testing

/// Uploads that survive the end of the app, with parts that the app makes by itself.
@Suite struct OutboxTests {
    @Test func `photos and assets of an outbox are stored once, whatever response is lost`() async throws {
        let app = try TestApp()
        let cloakroom = try app.cloakroom()
        let outbox = try Outbox(
            folder: cloakroom.folder.appendingPathComponent("outbox"), owner: cloakroom.owner,
            photos: cloakroom.objects, assets: cloakroom.client,
            carrier: TransportCarrier(transport: app.server.transport))
        for photo in try app.photos(3) { try await outbox.add(photo: photo) }
        try await outbox.add(asset: UploadContent(Data("a".utf8), contentType: "image/jpeg"), reference: "a")
        app.server.fail(.putObject, keyPrefix: "photos/u_1/", with: .connectionLostAfter)
        _ = await outbox.run()
        // What has failed is sent again later, by the device's clock: at once when the app says so.
        for item in try await outbox.items() { _ = try await outbox.retry(item.id) }
        let report = await outbox.run()
        #expect(report.isComplete && report.failed == 0)
        #expect(app.server.objects().count == 4)
        #expect(app.server.requests(.putObject).count { $0.status == 200 } == 3)
    }

    @Test(arguments: [0, 1])
    func `a sign-out has its time for sending, also after a failure`(failures: Int) async throws {
        let app = try TestApp()
        let cloakroom = try app.cloakroom()
        try await cloakroom.outbox().add(photo: app.photos(1)[0])
        if failures > 0 { app.server.fail(.putObject, with: .response(status: 500, code: "InternalError")) }
        let report = try await cloakroom.signOut(.afterSending(within: .seconds(30)))
        #expect(report.sent == 1 && report.kept.isEmpty && report.stoppedBy == nil)
    }

    @Test func `work that was done is not done again at the same instant`() async throws {
        var options = TestServer.Options()
        // Its seconds since 1970 are rounded up.
        options.date = Date(timeIntervalSinceReferenceDate: 817_000_000 + 0x3p-23)
        let schedule = try TestApp(options).cloakroom().schedule
        await schedule.add(ScheduledWork("work", every: .seconds(60)) {})
        #expect(await schedule.runDue().count == 1)
        #expect(await schedule.runDue().isEmpty)
    }

    @Test func `a run has its time, which a test lets pass`() async throws {
        let app = try TestApp()
        let outbox = try app.cloakroom().outbox()
        try await outbox.add(photo: app.photos(1)[0])
        app.server.fail(.putObject, with: .delay(.seconds(19)))
        #expect(await outbox.run(within: .seconds(20)).sent == 1)
    }

    @Test func `an outbox that keeps sending lets no time pass`() async throws {
        let app = try TestApp()
        let date = app.server.date
        let outbox = try app.cloakroom().outbox()
        let sending = Task { await outbox.keepSending() }
        for photo in try app.photos(9) {
            try await outbox.add(photo: photo)
            for await state in await outbox.states() where state.unsent.isEmpty { break }
        }
        #expect(app.server.date == date)
        sending.cancel()
        await sending.value
    }
}
