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
