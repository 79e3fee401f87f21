import CloakroomKit
import Foundation

/// What the examples of articles take for granted in their comments: a user of the local stack, and files.
enum Example {
    /// Of the user `u_1`.
    static let token = value("EXAMPLE_TOKEN")
    /// What two users sign in with, each once: a second sign-in with the same token is refused.
    static let identityToken = value("EXAMPLE_IDENTITY_TOKEN")
    static let otherIdentityToken = value("EXAMPLE_OTHER_IDENTITY_TOKEN")
    /// Where the stack's S3 listens.
    static let s3 = URL(string: value("EXAMPLE_S3"))
    /// Empty at first, for what the example keeps.
    static let folder = URL(fileURLWithPath: value("EXAMPLE_FOLDER"), isDirectory: true)
    /// With a few photos.
    static let pictures = URL(fileURLWithPath: value("EXAMPLE_PICTURES"), isDirectory: true)
    static let photo = pictures.appendingPathComponent("1.jpg")
    /// An app's database with photos in a table `blobs`.
    static let blobTable = URL(fileURLWithPath: value("EXAMPLE_BLOBS"))

    static func md5(of file: URL) throws -> String { value("EXAMPLE_MD5") }

    private static func value(_ name: String) -> String { ProcessInfo.processInfo.environment[name] ?? "" }
}

// An app's S3 is AWS; that of an example is the stack's. The compiler prefers these to those with more parameters.

extension S3BackupClient {
    init(
        credentials: CredentialProvider, transport: any HTTPTransport = URLSessionTransport(),
        journal: any MultipartJournal = InMemoryMultipartJournal()
    ) {
        self.init(credentials: credentials, transport: transport, endpoint: Example.s3, journal: journal)
    }
}

extension Cloakroom.Configuration {
    init(endpoint: URL) {
        self.init(endpoint: endpoint, transport: URLSessionTransport())
        s3Endpoint = Example.s3
        folder = Example.folder
    }
}
