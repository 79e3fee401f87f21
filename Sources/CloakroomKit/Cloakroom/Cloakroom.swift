public import Foundation

/// All parts of the kit for one signed-in user, made once and for one another.
///
/// ```swift
/// let configuration = Cloakroom.Configuration(endpoint: URL(string: "https://api.example.com")!)
/// let cloakroom = try Cloakroom(configuration: configuration, user: "u_1") { try await account.token() }
/// let report = await cloakroom.backup.backUp(files)
/// ```
///
/// An app that wants another part makes that itself, from those here: each has public initializers, and needs no other than those
/// it is given. Keep one for as long as the user is signed in, and make another for the next user: what is on the disk is kept
/// in a folder for each user of each endpoint.
public struct Cloakroom: Sendable {
    public let configuration: Configuration
    /// Whose files these are.
    public let owner: StoreOwner
    /// Of this user alone: its files have their names here, and an app may put its own beside them.
    public let folder: URL

    /// The worker's routes as calls.
    public let client: CloakroomClient
    /// Temporary credentials for the user's folders, which refresh themselves and survive a restart.
    public let credentials: CredentialProvider
    /// Where the user's photos are in the bucket.
    public let layout: PhotoLayout
    /// Single objects, over any network: for what the user waits for.
    public let objects: S3BackupClient
    /// The same, over networks that cost nothing.
    private let background: S3BackupClient
    /// All photos, over networks that cost nothing.
    public let backup: PhotoBackup
    public let restore: PhotoRestore
    /// Images that others see.
    public let uploads: AssetUploader
    /// When what was done; add the app's own work to it.
    public let schedule: WorkSchedule

    /// Opens what is on the disk; nothing is sent.
    ///
    /// - Parameters:
    ///   - user: as the worker names the user, such as ``Session/userID``: 1 to 64 of `A–Z a–z 0–9 _ -`.
    ///   - tokens: called for each request; see <doc:SigningIn>.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidRequest`` for a name that no user has,
    ///   ``CloakroomError/Code/laterVersion`` where a newer version of the app wrote the files, ``CloakroomError/Code/diskFull``
    ///   or ``CloakroomError/Code/storeFailed``.
    public init(configuration: Configuration, user: String, tokens: any TokenProvider) throws {
        self.configuration = configuration
        layout = try PhotoLayout(userID: user)
        owner = StoreOwner(user: user, endpoint: configuration.endpoint)
        let userFolder = UserFolder(of: owner, in: configuration.folder)
        try userFolder.make()
        folder = userFolder.url
        client = CloakroomClient(
            endpoint: configuration.endpoint, tokenHeader: configuration.tokenHeader, tokens: tokens,
            transport: configuration.transport, retryPolicy: configuration.retryPolicy, runtime: configuration.runtime)
        credentials = CredentialProvider(
            vendor: client, store: Self.credentialStore(of: owner, in: folder), serverClock: client.serverClock,
            runtime: configuration.runtime)
        let journal = try SQLiteMultipartJournal(at: folder.appendingPathComponent("uploads.sqlite"), owner: owner)
        objects = S3BackupClient(
            credentials: credentials, transport: configuration.transport, endpoint: configuration.s3Endpoint,
            journal: journal, runtime: configuration.runtime)
        background = S3BackupClient(
            credentials: credentials, transport: configuration.backgroundTransport,
            endpoint: configuration.s3Endpoint, journal: journal, runtime: configuration.runtime)
        backup = PhotoBackup(
            client: background, layout: layout,
            index: try PhotoIndex(
                at: folder.appendingPathComponent("photos.sqlite"), owner: owner,
                wallClock: configuration.runtime.wallClock))
        restore = PhotoRestore(client: objects, layout: layout)
        uploads = AssetUploader(
            uploader: client, retention: configuration.assetRetention, runtime: configuration.runtime)
        schedule = try WorkSchedule(
            at: folder.appendingPathComponent("schedule.sqlite"), owner: owner, runtime: configuration.runtime)
    }

    /// The same, with a closure that gives the token.
    public init(
        configuration: Configuration, user: String, token: @escaping @Sendable () async throws -> String
    ) throws {
        try self.init(configuration: configuration, user: user, tokens: ClosureTokenProvider(closure: token))
    }

    /// Renews the images that the app shows, and uploads those again that are gone, where it has their bytes.
    ///
    /// Make one, and keep it: runs of two are not one another's.
    ///
    /// - Parameters:
    ///   - collector: which images.
    ///   - cache: where their bytes may be; `nil` for no recovery.
    ///   - urls: where the app keeps their URLs; `nil` for no recovery.
    /// - Throws: ``CloakroomError``, as ``init(configuration:user:tokens:)``, and for ``Configuration/assetBaseURLs`` that are
    ///   none.
    public func renewals(
        of collector: any AssetRenewalURLCollector, cache: (any AssetCache)? = nil, urls: (any AssetURLWriter)? = nil
    ) throws -> AssetRenewalManager {
        let store = try SQLiteRenewalStore(
            at: folder.appendingPathComponent("renewals.sqlite"), owner: owner, runtime: configuration.runtime)
        var recovery: AssetRecovery?
        if let cache, let urls {
            recovery = AssetRecovery(
                uploader: client, cache: cache, urls: urls,
                journal: try SQLiteRecoveryJournal(at: folder.appendingPathComponent("recovery.sqlite"), owner: owner),
                renewals: store, runtime: configuration.runtime)
        }
        return AssetRenewalManager(
            renewer: client, collector: collector, store: store, recovery: recovery,
            baseURLs: try AssetBaseURLs(configuration.assetBaseURLs), runtime: configuration.runtime)
    }

    /// Backs up a source of photos, such as the device's library, over networks that cost nothing.
    ///
    /// Make one for each source, and keep it.
    ///
    /// - Parameter name: of its files, letters and digits: another one for each source.
    /// - Throws: ``CloakroomError``, as ``init(configuration:user:tokens:)``.
    public func backup(of source: any PhotoSource, named name: String = "library") throws -> SourceBackup {
        guard !name.isEmpty, name.utf8.allSatisfy({ PhotoLayout.isWord($0) }) else {
            throw CloakroomError(.invalidRequest, "a source's name is letters, digits, hyphens and underscores")
        }
        return SourceBackup(
            source: source, client: background, layout: layout,
            journal: try SourceJournal(
                at: folder.appendingPathComponent("source-\(name).sqlite"), owner: owner,
                runtime: configuration.runtime),
            folder: folder.appendingPathComponent("source-\(name)", isDirectory: true))
    }

    private static func credentialStore(of owner: StoreOwner, in folder: URL) -> any CredentialStore {
        #if canImport(Security)
            KeychainCredentialStore(owner: owner)
        #else
            SealedFileCredentialStore(folder: folder.appendingPathComponent("credentials"), owner: owner)
        #endif
    }
}
