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
}
