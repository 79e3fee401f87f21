import CloakroomCrypto
import CloakroomKit
import Foundation
import Testing

extension EndToEnd {
    /// From the app's token to bytes in S3, with credentials that the worker vends.
    @Suite struct KitBackups {
        private static var options: Stack.Options { .init(nginx: true, s3: true) }

        @Test func `what a user stores is found, read and deleted, and elsewhere nothing is`() async throws {
            try await Stack.run("kit-objects", Self.options) { stack in
                let kit = try Kit(stack, token: Tokens.token(user: "u_objects", device: "u_objects", tier: "free"))
                let s3 = try await kit.backups()
                let key = "photos/u_objects/a b+c é.jpg"
                #expect(try await !s3.exists(key))
                #expect(try await s3.head(key) == nil)
                let photo = Data("a photo".utf8)
                let put = try await s3.put(photo, to: key, contentType: "image/jpeg", metadata: ["taken": "2026-01-01"])
                let found = try #require(try await s3.head(key))
                let age = Date().timeIntervalSince(try #require(found.lastModified))
                #expect(abs(age) < 60)
                #expect(
                    found
                        == ObjectInfo(
                            key: key, byteCount: 7, entityTag: put.entityTag, lastModified: found.lastModified,
                            contentType: "image/jpeg", metadata: ["taken": "2026-01-01"]))
                #expect(try await s3.exists(key))
                #expect(try await s3.get(key) == photo)
                let again = try await cloakroomError {
                    try await s3.put(Data("other".utf8), to: key, condition: .isNew)
                }
                #expect(again?.code == .conditionFailed)
                #expect(try await s3.get(key) == photo)
                try await s3.delete(key)
                try await s3.delete(key)
                #expect(try await !s3.exists(key))
                #expect(try await cloakroomError { _ = try await s3.get(key) }?.code == .noSuchObject)

                try EndToEnd.s3().put("photos/u_else/a.jpg")
                let theirs = "photos/u_else/a.jpg"
                let refusals = [
                    try await cloakroomError { _ = try await s3.get(theirs) },
                    try await cloakroomError { _ = try await s3.head(theirs) },
                    try await cloakroomError { _ = try await s3.exists("photos/u_else/missing.jpg") },
                    try await cloakroomError { try await s3.put(photo, to: theirs) },
                    try await cloakroomError { try await s3.delete(theirs) },
                    try await cloakroomError { for try await _ in s3.list(prefix: "photos/u_else/") {} },
                ]
                #expect(refusals.map { $0?.code } == Array(repeating: .accessDenied, count: refusals.count))
                #expect(try EndToEnd.s3().head(theirs).status == 200)
            }
        }

        @Test func `a listing of two pages names each object once`() async throws {
            try await Stack.run("kit-list", Self.options) { stack in
                let kit = try Kit(stack, token: Tokens.token(user: "u_list", device: "u_list", tier: "free"))
                let s3 = try await kit.backups()
                let keys = (0..<1001).map { "photos/u_list/\(10_000 + $0).jpg" }
                try await withThrowingTaskGroup { group in
                    for key in keys { group.addTask { try await s3.put(Data(key.utf8), to: key) } }
                    try await group.waitForAll()
                }
                var listed: [String] = []
                for try await object in s3.list(prefix: "photos/u_list/") { listed.append(object.key) }
                #expect(listed == keys)
                // One vending for all of it.
                let metrics = Metrics(try stack.ask(.metrics).text)
                #expect(metrics.sum("cloakroom_requests_total", ["route": "/api/v1/auth/sts-token"]) == 1)
            }
        }

        @Test func `a file goes up in parts and comes back byte for byte`() async throws {
            try await Stack.run("kit-parts", Self.options) { stack in
                let kit = try Kit(stack, token: Tokens.token(user: "u_parts", device: "u_parts", tier: "free"))
                let s3 = try await kit.backups()
                let sent = URL(fileURLWithPath: "\(stack.folder)/sent")
                let bytes = Data((0..<12_000_011).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 7 ^ $0 >> 15) })
                try bytes.write(to: sent)
                let put = try await s3.put(
                    file: sent, to: "photos/u_parts/film.mov", contentType: "video/quicktime",
                    metadata: ["taken": "today"])
                #expect(put.byteCount == 12_000_011)
                let received = URL(fileURLWithPath: "\(stack.folder)/received")
                let found = try await s3.download("photos/u_parts/film.mov", to: received)
                #expect(found.contentType == "video/quicktime" && found.metadata == ["taken": "today"])
                #expect(found.entityTag == put.entityTag && found.entityTag.hasSuffix("-3\""))
                #expect(try Data(contentsOf: received) == bytes)
            }
        }

        @Test func `credentials that end in the middle of a backup are replaced, and no file fails`() async throws {
            try await Stack.run("kit-900", Self.options) { stack in
                let leaps = LeapingClock(of: 900)
                let token = Tokens.token(user: "u_900", device: "u_900", tier: "free")
                let s3 = try await Kit(stack, token: token).backups(by: leaps, token: token)
                let folder = URL(fileURLWithPath: "\(stack.folder)/photos")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
                let photos = (0..<60).map { number in
                    Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8 ^ number) })
                }
                for (number, photo) in photos.enumerated() {
                    try photo.write(to: folder.appendingPathComponent("\(number).jpg"))
                }
                let layout = try PhotoLayout(userID: "u_900")
                var options = PhotoBackup.Options()
                options.filesAtOnce = 4
                let report = await PhotoBackup(client: s3, layout: layout, options: options).backUp(folder: folder) {
                    if $0.filesDone == 20 { leaps.pass() }
                }
                #expect(report.isComplete && report.backedUp == photos.count, "\(report)")
                for photo in photos {
                    let key = try layout.photo(md5: MD5.hash(photo).hexadecimal)
                    #expect(try await s3.get(key) == photo)
                }
                let metrics = Metrics(try stack.ask(.metrics).text)
                #expect(metrics.sum("cloakroom_requests_total", ["route": "/api/v1/auth/sts-token"]) == 2)
            }
        }
    }
}
