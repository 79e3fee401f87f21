import CloakroomKit
import Foundation

/// Who is signed in, where, and what the kit needs for them. An app keeps the token in the keychain; this one keeps it in
/// a file that only its user can read.
struct Account: Codable {
    var endpoint: URL
    /// `nil`: AWS's own.
    var s3Endpoint: URL?
    var userID: String
    /// `nil` for one who signed in with an identity token: then ``sessions`` has the session, and continues it.
    var token: String?
    /// Of the worker's sessions, in this process.
    private var sessions: SessionTokenProvider?

    private enum CodingKeys: CodingKey { case endpoint, s3Endpoint, userID, token }

    init(endpoint: URL, s3Endpoint: URL?, userID: String, token: String) {
        self.endpoint = endpoint
        self.s3Endpoint = s3Endpoint
        self.userID = userID
        self.token = token
    }

    /// Signs in; the session is kept beside the account.
    init(endpoint: URL, s3Endpoint: URL?, identity: SignInIdentity, _ options: Options) async throws {
        let sessions = try Self.sessions(at: endpoint, options)
        self.endpoint = endpoint
        self.s3Endpoint = s3Endpoint
        userID = try await sessions.signIn(with: identity)
        self.sessions = sessions
    }

    /// The folder of the records.
    static func folder(_ options: Options) throws -> URL {
        let usual = FileManager.default.homeDirectoryForCurrentUser
            .appendingPathComponent(".local/state/cloakroom-sample", isDirectory: true)
        let folder = options.values["state"].map { URL(fileURLWithPath: $0, isDirectory: true) } ?? usual
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder
    }

    static func load(_ options: Options) throws -> Account {
        guard let data = FileManager.default.contents(atPath: try folder(options).path + "/account.json") else {
            throw UsageError("not signed in")
        }
        var account = try JSONDecoder().decode(Account.self, from: data)
        if account.token == nil { account.sessions = try sessions(at: account.endpoint, options) }
        return account
    }

    private static func sessions(at endpoint: URL, _ options: Options) throws -> SessionTokenProvider {
        let store = SealedFileCredentialStore(
            folder: try folder(options).appendingPathComponent("session"), owner: .session(at: endpoint))
        return SessionTokenProvider(
            endpoint: endpoint, transport: SampleTransport(), store: store,
            onStoreFailure: { Console.printError("the session: \($0)") })
    }

    func save(_ options: Options) throws {
        let file = try Self.folder(options).appendingPathComponent("account.json")
        guard
            FileManager.default.createFile(
                atPath: file.path, contents: try JSONEncoder().encode(self), attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        // Of an earlier sign-in.
        if token != nil { try Self.remove("session", options) }
    }

    /// Forgets the session, the credentials, and who it was.
    func forget(_ options: Options) async throws {
        try await sessions?.signOut()
        for name in ["account.json", "credentials", "session"] { try Self.remove(name, options) }
    }

    /// Nothing where there is no such file or folder.
    private static func remove(_ name: String, _ options: Options) throws {
        let file = try folder(options).appendingPathComponent(name)
        if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
    }

    /// Whose the records are.
    var owner: StoreOwner { StoreOwner(user: userID, endpoint: endpoint) }

    /// The worker's routes as calls.
    func client(over transport: any HTTPTransport) -> CloakroomClient {
        if let sessions { return CloakroomClient(endpoint: endpoint, tokens: sessions, transport: transport) }
        let token = token
        return CloakroomClient(endpoint: endpoint, transport: transport) { token ?? "" }
    }

    /// The user's objects in S3, with credentials that refresh themselves; these, and multipart uploads, survive a restart.
    func s3(over transport: any HTTPTransport, _ folder: URL) throws -> S3BackupClient {
        try s3(with: credentials(over: transport, folder), over: transport, folder)
    }

    /// The same, and where the worker says that the user's photos lie.
    func photos(
        over transport: any HTTPTransport, _ folder: URL
    ) async throws -> (client: S3BackupClient, layout: PhotoLayout) {
        let credentials = credentials(over: transport, folder)
        let layout = try PhotoLayout(vended: try await credentials.credentials(), userID: userID)
        return (try s3(with: credentials, over: transport, folder), layout)
    }

    private func credentials(over transport: any HTTPTransport, _ folder: URL) -> CredentialProvider {
        let store = SealedFileCredentialStore(folder: folder.appendingPathComponent("credentials"), owner: owner)
        return CredentialProvider(vendor: client(over: transport), store: store)
    }

    private func s3(
        with credentials: CredentialProvider, over transport: any HTTPTransport, _ folder: URL
    ) throws -> S3BackupClient {
        S3BackupClient(
            credentials: credentials, transport: transport, endpoint: s3Endpoint,
            journal: try SQLiteMultipartJournal(at: folder.appendingPathComponent("uploads.sqlite"), owner: owner))
    }

    /// The same objects, to be read alone: also for a user whose storage is used up.
    func readingS3(over transport: any HTTPTransport) -> S3BackupClient {
        let credentials = CredentialProvider(vendor: ScopedVendor(client(over: transport), scope: "read"))
        return S3BackupClient(credentials: credentials, transport: transport, endpoint: s3Endpoint)
    }
}
