import CloakroomCrypto
import CloakroomKitTestSupport
import CloakroomKitTesting
import Foundation
import Testing

@testable import CloakroomKit

/// On a full disk photos are backed up, restored and shown all the same.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible)) struct FullDiskFacadeTests {
    /// - Parameter maximumFiles: too few for the user's folder, or as many as there is room for.
    @Test(arguments: [2, nil]) func `photos are backed up and shown on a full disk, which is reported`(
        maximumFiles: Int?
    ) async throws {
        let disk = try SmallDisk(byteCount: 1 << 20, maximumFiles: maximumFiles)
        defer { disk.unmount() }
        try disk.fill()
        let pictures = try TemporaryFolder()
        let photo = try pictures.write("a.jpg", Data("a photo".utf8))
        let server = TestServer()
        let failures = Log<CloakroomError.Code>()
        var configuration = server.configuration(folder: disk.url.appendingPathComponent("state"))
        configuration.cacheFolder = disk.url.appendingPathComponent("cache")
        configuration.onStoreFailure = { failures.append($0.code) }
        configuration.assetBaseURLs = [try #require(URL(string: "https://cdn.example"))]
        let cloakroom = try Cloakroom(configuration: configuration, user: "u_1", tokens: server.tokens(forUser: "u_1"))
        #expect(Set(failures.all) == [.diskFull])
        let report = await cloakroom.backup.backUp([photo])
        #expect(report.failures == [] && report.stoppedBy == nil)
        let md5 = MD5.hash(Data("a photo".utf8)).hexadecimal
        #expect(server.objects().keys.sorted() == [try cloakroom.layout.photo(md5: md5)])
        #expect(try await cloakroom.images().data(for: .photo(md5: md5)) == Data("a photo".utf8))
        let renewals = try cloakroom.renewals(of: AssetCollection([]))
        #expect(await renewals.renewIfNeeded().error == nil)
        let library = try cloakroom.backup(of: FolderPhotoSource(pictures.url))
        #expect(await library.run().failures == [])
        await cloakroom.schedule.add(ScheduledWork("work", every: .seconds(60)) {})
        #expect(await cloakroom.schedule.runDue() == [ScheduledWorkResult(name: "work", error: nil)])
        #expect(await cloakroom.schedule.runDue() == [])
    }
}
