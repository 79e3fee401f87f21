import CloakroomKit
import Foundation

/// The server, S3, the app's cache and its database as files, so that they outlive the process; each write is whole or not
/// there.
///
/// - `s3/KEY` is an object, `renewed.txt` has a line for each key that was renewed;
/// - `cache/NAME` is what the app's cache has for the asset whose key is `NAME.bin`;
/// - `database.json` is an ``AppDatabase``.
actor Folder {
    nonisolated let url: URL
    nonisolated let points: KillPoints
    nonisolated let date: Date
    /// The one that the tests read the records as.
    nonisolated let owner = StoreOwner(user: "u_1", endpoint: URL(string: "https://api.example")!)

    init(_ url: URL, _ points: KillPoints, date: Date) {
        self.url = url
        self.points = points
        self.date = date
    }

    func database() throws -> AppDatabase {
        try JSONDecoder().decode(
            AppDatabase.self, from: Data(contentsOf: url.appendingPathComponent("database.json")))
    }

    func change(_ body: (inout AppDatabase) -> Void) throws {
        var database = try database()
        body(&database)
        try JSONEncoder().encode(database).write(to: url.appendingPathComponent("database.json"), options: .atomic)
    }

    nonisolated func object(_ key: String) -> URL { url.appendingPathComponent("s3/\(key)") }

    nonisolated func hasObject(_ key: String) -> Bool { FileManager.default.fileExists(atPath: object(key).path) }
}

/// What the app knows of its images.
struct AppDatabase: Codable {
    var urls: [String: URL]
    /// Every URL that recovery wrote, or `cleared`, by asset.
    var writes: [String: [String]]
}

extension Folder: PresignedUploader {
    /// The key is not one that was handed out before, whatever became of that process.
    func requestUpload(contentType: String, byteCount: Int64?) async throws -> UploadTarget {
        await points.cross()
        let key = "new-\(UUID().uuidString).bin"
        return UploadTarget(
            objectKey: key, uploadURL: URL(string: "https://s3.example/\(key)?signed&If-None-Match=*")!,
            assetURL: URL(string: "https://cdn.example/\(key)")!, expiration: date + 900,
            fields: ["Content-Type": contentType])
    }

    func upload(_ body: HTTPBody, to target: UploadTarget) async throws {
        await points.cross()
        guard case .bytes(let data) = body else { throw CloakroomError(.unreadableFile, "no bytes") }
        guard let end = target.expiration, date < end else { throw CloakroomError(.uploadURLExpired, "ended") }
        if hasObject(target.objectKey) { return }
        if data == Data("bytes of changed".utf8) { try chooseAnother(for: "changed") }
        let part = url.appendingPathComponent("part")
        try data.write(to: part)
        await points.cross()
        try FileManager.default.moveItem(at: part, to: object(target.objectKey))
        await points.cross()
    }

    func requestChatUpload(contentType: String, byteCount: Int64?) async throws -> UploadTarget {
        let target = try await requestUpload(contentType: contentType, byteCount: byteCount)
        return UploadTarget(
            objectKey: target.objectKey, uploadURL: target.uploadURL, assetURL: target.assetURL,
            expiration: target.expiration, fields: target.fields, releaseToken: "token-of-\(target.objectKey)")
    }

    /// The user gives the asset another image while the old one is uploaded.
    private func chooseAnother(for name: String) throws {
        try Data("chosen".utf8).write(to: object("chosen.bin"))
        try change { $0.urls[name] = URL(string: "https://cdn.example/chosen.bin")! }
    }
}

extension Folder: ImageReleaser {
    func release(_ images: [ImageRelease]) async throws -> [ImageReleaseResult] {
        await points.cross()
        for image in images where image.releaseToken == "token-of-\(image.objectKey)" {
            try? FileManager.default.removeItem(at: object(image.objectKey))
        }
        await points.cross()
        return images.map { ImageReleaseResult(objectKey: $0.objectKey, outcome: .released(bytesGoneBy: nil)) }
    }
}

extension Folder: AssetRenewer {
    func renewAssets(keys: [String]) async throws -> [RenewalResult] {
        await points.cross()
        var results: [RenewalResult] = []
        for (number, key) in keys.enumerated() {
            if number == keys.count / 2 { await points.cross() }
            if hasObject(key) { try note(key) }
            results.append(
                RenewalResult(key: key, outcome: hasObject(key) ? .renewed(expiration: nil) : .notFound))
        }
        await points.cross()
        return results
    }

    private func note(_ key: String) throws {
        let handle = try FileHandle(forWritingTo: url.appendingPathComponent("renewed.txt"))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("\(key)\n".utf8))
        try handle.close()
    }
}
