import CloakroomKit
import CloakroomKitTesting
import Foundation
import Testing

/// What an app wants to know of backups.
@Suite struct BackupTests {
    @Test func `photos are backed up and restored`() async throws {
        let app = try TestApp()
        let cloakroom = try app.cloakroom()
        let report = await cloakroom.backup.backUp(try app.photos(5))
        #expect(report.failures == [] && report.stoppedBy == nil)
        #expect(app.server.objects(withPrefix: "photos/u_1/").count == 5)
        let restored = app.folder.appendingPathComponent("restored")
        try FileManager.default.createDirectory(at: restored, withIntermediateDirectories: false)
        let result = await cloakroom.restore.restore(to: restored)
        #expect(result.failures == [])
        let files = try FileManager.default.contentsOfDirectory(at: restored, includingPropertiesForKeys: nil)
        #expect(Set(try files.map { try Data(contentsOf: $0) }) == Set(app.server.objects().values.map(\.bytes)))
        #expect(files.count == 5)
    }

    @Test func `an upload whose response is lost is not sent twice`() async throws {
        let app = try TestApp()
        app.server.fail(.putObject, nth: 2, with: .connectionLostAfter)
        let report = await (try app.cloakroom()).backup.backUp(try app.photos(3))
        #expect(report.failures == [] && report.stoppedBy == nil)
        #expect(app.server.objects().count == 3)
        // The kit looks for it before it sends it again, or S3 refuses it: either way it is stored once.
        let statuses = app.server.requests(.putObject).map(\.status)
        #expect(statuses.count { $0 == 200 } == 2 && statuses.count { $0 == nil } == 1)
        #expect(app.server.faultsToCome == 0)
    }

    @Test func `an upload that did not arrive is sent again`() async throws {
        let app = try TestApp()
        app.server.fail(.putObject, with: .connectionLostBefore)
        let report = await (try app.cloakroom()).backup.backUp(try app.photos(3))
        #expect(report.failures == [])
        #expect(app.server.requests(.putObject).count { $0.status == 200 } == 3)
    }

    @Test func `credentials that end in the middle of a run are replaced once`() async throws {
        let app = try TestApp()
        app.server.fail(.putObject, nth: 3, with: .credentialsEnded)
        let report = await (try app.cloakroom()).backup.backUp(try app.photos(8))
        #expect(report.failures == [] && report.stoppedBy == nil)
        #expect(app.server.objects().count == 8)
        #expect(app.server.count(.vendCredentials) == 2)
    }

    @Test func `credentials end with the time that passes`() async throws {
        let app = try TestApp()
        let cloakroom = try app.cloakroom()
        let photos = try app.photos(2)
        _ = await cloakroom.backup.backUp([photos[0]])
        app.server.advance(by: .seconds(3601))
        let report = await cloakroom.backup.backUp([photos[1]])
        #expect(report.failures == [] && report.stoppedBy == nil)
        #expect(app.server.count(.vendCredentials) == 2)
        #expect(app.server.objects().count == 2)
    }

    @Test func `a large photo goes up in parts, and on where it was`() async throws {
        let app = try TestApp()
        let photo = try app.photos(1, byteCount: 12 << 20)
        app.server.fail(.completeMultipartUpload, times: .max, with: .response(status: 503, code: "ServiceUnavailable"))
        let first = await (try app.cloakroom()).backup.backUp(photo)
        #expect(first.failures.count == 1)
        #expect(app.server.count(.uploadPart) == 3 && app.server.objects().isEmpty)
        app.server.clearFaults()
        let second = await (try app.cloakroom()).backup.backUp(photo)
        #expect(second.failures == [])
        #expect(app.server.count(.uploadPart) == 3)
        #expect(app.server.objects().values.map(\.bytes.count) == [12 << 20])
    }

    @Test func `a listing comes in pages`() async throws {
        var options = TestServer.Options()
        options.pageSize = 2
        let app = try TestApp(options)
        for number in 0..<5 { app.server.store(Data([UInt8(number)]), at: "photos/u_1/\(number) +ä.dat") }
        app.server.store(Data(), at: "photos/u_2/0.dat")
        var keys: [String] = []
        for try await object in try app.cloakroom().objects.list(prefix: "photos/u_1/") { keys.append(object.key) }
        #expect(keys == (0..<5).map { "photos/u_1/\($0) +ä.dat" })
        #expect(app.server.count(.listObjects) == 3)
    }

    @Test func `nobody reads what another user has`() async throws {
        let app = try TestApp()
        app.server.store(Data("theirs".utf8), at: "photos/u_2/a.dat")
        let objects = try app.cloakroom().objects
        let refusal = await code { _ = try await objects.get("photos/u_2/a.dat") }
        #expect(refusal == .accessDenied)
    }
}
