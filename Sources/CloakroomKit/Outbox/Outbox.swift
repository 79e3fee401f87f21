package import CloakroomAWS
public import Foundation

/// A durable queue of photos and assets that are to be uploaded.
///
/// ```swift
/// let outbox = try Outbox(folder: folder, owner: owner, photos: s3, assets: client)
/// try await outbox.add(photo: file)
/// let report = await outbox.run()
/// ```
///
/// What was added is the outbox's own: the app may delete its file. Each item is stored in S3 once, wherever the process
/// ends meanwhile. Failures that can pass are retried, also by later processes; what cannot succeed stays until the app
/// retries or removes it. Until it is sent, this device has it alone, and on Apple's systems the device's backups: these have
/// photos, and no assets.
///
/// Each user at each endpoint has a folder of their own in `folder`, which no other user's outbox opens.
public actor Outbox {
    public struct Options: Sendable, Equatable {
        /// The most transfers that are under way; one always may be.
        public var transfersAtOnce = 16
        /// While so many bytes are under way no further transfer begins: small photos go many at a time, large ones few.
        public var bytesAtOnce: Int64 = 8 << 20
        /// Which networks, and how much power, may be used.
        public var conditions = TransferConditions()
        /// On average over the transfers of an outbox: each goes as fast as the network, and the next one waits, for hours
        /// after a long film; those of ``OutboxPriority/high`` do not wait. `nil` for as fast as it goes.
        public var bytesPerSecond: Int?
        /// A larger photo becomes a resumable multipart upload over the transport of the S3 client; the carrier has none
        /// of it. At most 5 GiB.
        public var largestPut: Int64 = 8 << 20
        /// How long a presigned URL of a photo holds, while the credentials last.
        public var urlLifetime: Duration = .seconds(86_400)

        public init() {}
    }

    let owner: StoreOwner
    let folder: OutboxFolder
    let photos: S3BackupClient?
    let assets: (any PresignedUploader & AssetRenewer)?
    let carrier: any TransferCarrier
    let conditions: any RunConditions
    let options: Options
    let runtime: RuntimeDependencies
    let onStep: @Sendable (OutboxStep) async -> Void

    var store: OutboxStore
    /// `nil` once the user has signed out.
    var lock: FolderLock?
    var isClosing = false
    /// Whether tasks that are cancelled leave their transfers to the carrier.
    var isDetaching = false
    var isPaused: Bool
    var run: OutboxRun?
    var transfers = OutboxTransfers()
    var feed = OutboxFeed()
    /// Before it nothing is begun, for the sake of the rate. A run with nothing left ends before it, and the next one keeps it.
    var pacedUntil: ContinuousClock.Instant?
    /// Items that are not begun, because they are being removed or their copies replaced: by how many calls at once.
    var held: [String: Int] = [:]

    /// - Parameters:
    ///   - folder: of all users' outboxes; made when it is not there. Put it into *Application Support*, and into no folder
    ///     that is excluded from backups, such as ``Cloakroom/folder``.
    ///   - owner: who is signed in, and where; their name is the one in the keys of the photos.
    ///   - photos: the owner's objects; `nil` for an app without photos. Give it a journal that lasts.
    ///   - assets: such as a ``CloakroomClient``, which gets the owner's tokens by ``TokenProvider/token(ofUser:)``; the app's own
    ///     sends no other user's. `nil` for an app without assets.
    ///   - carrier: of this outbox alone, until it has signed out.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeInUse`` when another outbox has the folder,
    ///   ``CloakroomError/Code/laterVersion``, ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/storeFailed``.
    public init(
        folder: URL, owner: StoreOwner, photos: S3BackupClient?, assets: (any PresignedUploader & AssetRenewer)?,
        carrier: any TransferCarrier = TransportCarrier(), conditions: any RunConditions = UnrestrictedConditions(),
        options: Options = Options()
    ) throws {
        try self.init(
            folder: folder, owner: owner, photos: photos, assets: assets, carrier: carrier, conditions: conditions,
            options: options, runtime: RuntimeDependencies())
    }

    package init(
        folder: URL, owner: StoreOwner, photos: S3BackupClient?, assets: (any PresignedUploader & AssetRenewer)?,
        carrier: any TransferCarrier, conditions: any RunConditions = UnrestrictedConditions(),
        options: Options = Options(), runtime: RuntimeDependencies,
        onStep: @escaping @Sendable (OutboxStep) async -> Void = { _ in }
    ) throws {
        let own = try OutboxFolder(in: folder, owner: owner)
        guard let lock = try FolderLock(at: own.lock) else {
            throw CloakroomError(.storeInUse, "another outbox of this user has the folder \(folder.lastPathComponent)")
        }
        var store = try OutboxStore(
            at: own.database, owner: owner, reserve: own.reserve, recordedRows: own.recordedRows,
            wallClock: runtime.wallClock)
        let rows = try store.rows()
        try own.removeAll(but: Set(rows.map(\.id)))
        own.leaveOutOfBackups(allButPhotosOf: rows)
        isPaused = try store.isPaused()
        self.folder = own
        self.lock = lock
        self.store = store
        self.owner = owner
        self.photos = photos
        // The app's session may be the next user's while this one's assets wait.
        self.assets = (assets as? CloakroomClient)?.ofUser(owner.user) ?? assets
        self.carrier = carrier
        self.conditions = conditions
        self.options = options
        self.runtime = runtime
        self.onStep = onStep
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/cancelled`` after the sign-out.
    func checkOpen() throws(CloakroomError) {
        guard isOpen else { throw Self.signedOut }
    }

    /// Whether the user is signed in still.
    var isOpen: Bool { lock != nil && !isClosing }

    static let signedOut = CloakroomError(.cancelled, "The user has signed out of this outbox")
}

/// What is on the disk or in S3 from now on: where a test ends the process.
package enum OutboxStep: String, Sendable, CaseIterable {
    /// The bytes, and no record yet.
    case copied
    /// The record beside the bytes, and no row yet.
    case recorded
    case added
    /// The destination of an asset is known, and was not used yet.
    case targeted
    /// A transfer is about to begin.
    case begun
    /// The carrier has it.
    case started
    /// It has ended, and that is not written yet.
    case ended
    /// S3 has it, and that is written; its bytes are still here.
    case concluded
    case removed
}
