public import Foundation

/// All parts of the kit for one signed-in user, made once and for one another.
///
/// ```swift
/// let configuration = Cloakroom.Configuration(endpoint: URL(string: "https://api.example.com")!)
/// let cloakroom = try Cloakroom(configuration: configuration, user: "u_1") { try await account.token(of: $0) }
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
    /// Of this user alone: its files have their names here, and an app may put its own beside them. It is in no backup of the
    /// device: what is nowhere else does not belong here.
    public let folder: URL

    /// The worker's routes as calls.
    public let client: CloakroomClient
    /// Temporary credentials for the user's folders, which refresh themselves and survive a restart.
    public let credentials: CredentialProvider
    /// Where the user's photos are in the bucket.
    public let layout: PhotoLayout
    /// Single objects, over any network: for what the user waits for.
    public let objects: S3BackupClient
    /// The same to be read alone, also while the user's storage is used up and the worker vends no credentials that write: see
    /// ``Configuration/readScope``.
    public let reader: S3BackupClient
    /// ``objects``, over networks that cost nothing.
    let background: S3BackupClient
    /// All photos, over networks that cost nothing.
    public let backup: PhotoBackup
    public let restore: PhotoRestore
    /// Images that others see.
    public let uploads: AssetUploader
    /// When what was done; add the app's own work to it.
    public let schedule: WorkSchedule
    let open = Locked(OpenParts())
    let tokens: SignedInTokens
    let account: Account

    /// Opens what is on the disk; nothing is sent. On a full disk, what has no room is left out or kept in memory, and reported by
    /// ``Configuration/onStoreFailure``. Photos are where they are in a worker's usual configuration; for one with
    /// other `vending.prefixes` there is ``connected(configuration:user:tokens:)``.
    ///
    /// It opens three small databases where it is called, which takes some milliseconds; ``connected(configuration:user:tokens:)``
    /// does so on no actor.
    ///
    /// - Parameters:
    ///   - user: as the worker names the user, such as ``Session/userID``: 1 to 64 of `A–Z a–z 0–9 _ -`.
    ///   - tokens: called for each request; see <doc:SigningIn>.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidRequest`` for a name that no user has,
    ///   ``CloakroomError/Code/laterVersion`` where a newer version of the app wrote the files, or
    ///   ``CloakroomError/Code/storeFailed``.
    public init(configuration: Configuration, user: String, tokens: any TokenProvider) throws {
        try self.init(
            Account(configuration, user: user, tokens: tokens), configuration, layout: try PhotoLayout(userID: user))
    }

    /// The same, with the layout that the worker's credentials open.
    ///
    /// It requests credentials, unless those of the last launch are valid still. Where the worker cannot be reached,
    /// the layout is that of the last time, so that an app starts without a network, too.
    ///
    /// - Throws: ``CloakroomError``: besides, why the worker has vended no credentials, where no layout is known;
    ///   ``CloakroomError/Code/storeOwnerMismatch`` when its credentials are another user's.
    @concurrent public static func connected(
        configuration: Configuration, user: String, tokens: any TokenProvider
    ) async throws -> Cloakroom {
        let account = try Account(configuration, user: user, tokens: tokens)
        return try Cloakroom(account, configuration, layout: try await account.layout())
    }

    private init(_ account: Account, _ configuration: Configuration, layout: PhotoLayout) throws {
        self.configuration = configuration
        self.layout = layout
        self.account = account
        owner = account.owner
        folder = account.folder
        client = account.client
        credentials = account.credentials
        tokens = account.tokens
        let runtime = configuration.runtime
        let journal: any MultipartJournal =
            try account.open("uploads.sqlite") { try SQLiteMultipartJournal(at: $0, owner: account.owner) }
            ?? InMemoryMultipartJournal()
        objects = S3BackupClient(
            credentials: credentials, transport: configuration.transport, endpoint: configuration.s3Endpoint,
            journal: journal, runtime: runtime)
        reader =
            account.reading.map {
                S3BackupClient(
                    $0, transport: configuration.transport, endpoint: configuration.s3Endpoint, runtime: runtime)
            } ?? objects
        background = S3BackupClient(
            credentials: credentials, transport: configuration.backgroundTransport,
            endpoint: configuration.s3Endpoint, journal: journal, runtime: runtime)
        backup = PhotoBackup(
            client: background, layout: layout,
            index: try account.open("photos.sqlite") {
                try PhotoIndex(at: $0, owner: account.owner, wallClock: runtime.wallClock)
            }, options: configuration.backupOptions)
        restore = PhotoRestore(client: reader, layout: layout)
        uploads = AssetUploader(uploader: client, retention: configuration.assetRetention, runtime: runtime)
        schedule = try account.openRecords("schedule.sqlite") {
            try WorkSchedule(at: $0, owner: account.owner, runtime: runtime)
        }
    }

    /// The same, with a closure that gives the token of the user it is told, as ``TokenProvider/token(ofUser:)`` does: it throws
    /// when the app's session is another user's.
    public init(
        configuration: Configuration, user: String, token: @escaping @Sendable (_ userID: String) async throws -> String
    ) throws {
        try self.init(
            configuration: configuration, user: user, tokens: ClosureTokenProvider { try await token(user) })
    }
}
