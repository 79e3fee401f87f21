import CloakroomKit
import Foundation

/// What the parts of an app keep.
nonisolated struct Noted: Sendable {
    var refusedTokens: [String] = []
    var credentials: StoredCredentials?
    var renewals: [RenewalRecord] = []
    var recoveries: [RecoveryRecord] = []
    var expiredKeys: [String] = []
    var uploadedKeys: [String] = []
    var newURL: URL?
    var uploads: [MultipartUpload] = []
    var requests = 0
}

/// What the parts of an app give.
nonisolated enum Examples {
    static func credentials() throws -> VendedCredentials {
        VendedCredentials(
            accessKeyID: "ASIAIOSFODNN7EXAMPLE", secretAccessKey: "secret", sessionToken: "token",
            expiration: Date().addingTimeInterval(3600), region: "us-east-1", bucket: "photos")
    }

    static func asset() throws -> RenewableAsset {
        .groupImage(url: try url("https://cdn.example/a.bin"), conversationID: "c_1")
    }

    static let photo = SourcePhoto(id: "a", version: "1", fileName: "a.jpg")

    static func file(in folder: URL) throws -> URL {
        let file = folder.appendingPathComponent("a.jpg")
        try Data("photo".utf8).write(to: file)
        return file
    }

    static func target() throws -> UploadTarget {
        UploadTarget(
            objectKey: "new.bin", uploadURL: try url("https://s3.example/new.bin"),
            assetURL: try url("https://cdn.example/new.bin"), expiration: nil, fields: [:])
    }

    static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw URLError(.badURL) }
        return url
    }
}
