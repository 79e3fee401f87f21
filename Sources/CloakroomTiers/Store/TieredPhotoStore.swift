public import CloakroomKit
import CloakroomSQLite
public import Foundation

/// A user's photos: the recent ones on this device, older ones in a cold tier, thumbnails always here.
///
/// At any time there is a file of this device with the photo's SHA-256, or a fresh proof of the cold tier's object was
/// recorded before the file went.
///
///     let store = try TieredPhotoStore(
///         folder: folder, tier: tier, thumbnailer: ImageIOThumbnailer(), policy: RetentionPolicy(period: .month))
///     let id = try await store.add(file, name: "IMG_0042", takenAt: date)
///     let photo = try await store.open(id)
///
/// One process at a time writes to a folder. In another one the store only reads: what would write throws
/// ``CloakroomError/Code/storeInUse``, and ``leave(_:name:takenAt:inInboxOf:)`` leaves a photo for the first.
public actor TieredPhotoStore {
    nonisolated let folder: StoreFolder
    nonisolated let tier: any ColdTier
    nonisolated let thumbnailer: any Thumbnailer
    nonisolated let conditions: any RunConditions
    nonisolated let clock: @Sendable () -> Date
    nonisolated let step: @Sendable (TierStep) -> Void
    nonisolated let place: @Sendable (URL) -> String?
    nonisolated let sleep: @Sendable (ContinuousClock.Instant) async throws -> Void
    nonisolated let leases = Leases()
    let catalog: Catalog
    /// In the catalog; another one after this device was dismissed.
    var device: DeviceID
    /// What the user's devices share through the tier.
    lazy var documents = DeviceDocuments(catalog: catalog, tier: tier, device: device, clock: clock)
    private var lock: FolderLock? {
        // Without it another process may write.
        didSet { localPhotos = LocalPhotos() }
    }
    private var currentPolicy: RetentionPolicy

    /// Not yet written: a view is no reason to wait for the disk.
    var views: [Int64: Date] = [:]
    var fetches: [Int64: PhotoFetch] = [:]
    nonisolated let timeouts = Timeouts()
    /// Those that were opened lately.
    var localPhotos = LocalPhotos()
    /// Photos that were fetched, and are not yet recorded.
    var arrivals: [Int64: Arrival] = [:]
    var lastArrival = (number: 0, time: ContinuousClock.now)
    /// Records them soon.
    var arrivalTask: Task<Void, Never>?
    let photosFolder: FolderDescriptor
    var currentRun: CurrentRun?
    /// Of its callers, by their numbers.
    var observers: [Int: @Sendable (_ done: Int, _ total: Int) -> Void] = [:]
    /// Calls that wait for its end.
    var waiters: Set<Int> = []
    var lastCaller = 0
    /// Calls that write and have not ended, by their numbers.
    var writes: [Int: PendingWrite] = [:]
    var lastWrite = 0
    let thumbnailLimit = TransferLimit(16)
    /// Files without a record were looked for since this store has the lock.
    var hasAdoptedOrphans = false

    /// - Parameters:
    ///   - folder: made when it is not there, for its user alone. One user's: another user's photos need another one.
    ///   - policy: of a new store, which keeps it; later ``setPolicy(_:)`` changes it, and this one no longer counts. Also
    ///     of a store whose catalog was so damaged that its own cannot be read.
    ///   - conditions: power and network as they are; by default those of the device on Apple's systems, and on others any.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unwritableFile``, ``CloakroomError/Code/diskFull``,
    ///   ``CloakroomError/Code/storeFailed``.
    public init(
        folder: URL, tier: any ColdTier, thumbnailer: any Thumbnailer, policy: RetentionPolicy = RetentionPolicy(),
        conditions: (any RunConditions)? = nil
    ) throws {
        try self.init(
            folder: folder, tier: tier, thumbnailer: thumbnailer, policy: policy,
            conditions: conditions ?? DeviceConditions.ofThisDevice, clock: { Date() })
    }

    /// - Parameters:
    ///   - clock: the device's.
    ///   - step: called when what it names is on the disk or in the tier.
    ///   - place: what the lock of this folder has, and that of no copy of it.
    ///   - sleep: until then, while photos that were fetched wait to be recorded.
    package init(
        folder: URL, tier: any ColdTier, thumbnailer: any Thumbnailer, policy: RetentionPolicy,
        conditions: any RunConditions, clock: @escaping @Sendable () -> Date,
        step: @escaping @Sendable (TierStep) -> Void = { _ in },
        place: @escaping @Sendable (URL) -> String? = TieredPhotoStore.inode,
        sleep: @escaping @Sendable (ContinuousClock.Instant) async throws -> Void = {
            try await Task.sleep(until: $0, clock: .continuous)
        }
    ) throws {
        self.folder = StoreFolder(folder)
        self.tier = tier
        self.thumbnailer = thumbnailer
        self.conditions = conditions
        self.clock = clock
        self.step = step
        self.place = place
        self.sleep = sleep
        try self.folder.make()
        // Before the catalog is opened: a damaged one is moved aside, and that is for the one who writes.
        lock = try FolderLock(at: self.folder.lock)
        photosFolder = try FolderDescriptor(self.folder.photos)
        catalog = try Self.openCatalog(self.folder, isWriter: lock != nil, on: clock())
        let known = try catalog.setting(.device).flatMap(DeviceID.init(rawValue:))
        // Before anything else is written: a launch that ends here must not leave a catalog that seems to be complete.
        let isNew = if lock != nil { known == nil } else { false }
        if catalog.movedAside != nil { try catalog.set(.rebuild, to: "1") }
        if isNew, try Self.hadCatalog(self.folder) { try catalog.set(.rebuild, to: "1") }
        device = known ?? .random()
        if isNew { try catalog.set(.device, to: device.rawValue) }
        if let known = try catalog.policy() {
            currentPolicy = known
        } else {
            let former = lock == nil ? nil : try Self.formerPolicy(of: catalog, in: self.folder)
            currentPolicy = former ?? policy
            // Of a store without one. A full disk is no reason not to open it: then the next one that writes keeps it.
            if lock != nil { try? catalog.setPolicy(currentPolicy) }
        }
        if lock != nil { try Self.keepOwner(in: self.folder, by: catalog) }
    }

    /// What the user chose before the catalog was damaged; `nil` where there was none, or nothing can be read of it.
    private static func formerPolicy(
        of catalog: Catalog, in folder: StoreFolder
    ) throws(CloakroomError) -> RetentionPolicy? {
        guard try catalog.setting(.rebuild) != nil else { return nil }
        if let path = catalog.movedAside { return Catalog.policy(ofDamaged: path) }
        // A launch that moved it aside has ended before it had recorded the policy. Their names end with their dates.
        let prefix = folder.catalog.lastPathComponent + ".corrupt-"
        let names = try StoreFolder.names(in: folder.url).filter { $0.hasPrefix(prefix) && !$0.hasSuffix("-wal") }
        let latest = names.filter { !$0.hasSuffix("-shm") }.max()
        return latest.flatMap { Catalog.policy(ofDamaged: folder.url.appendingPathComponent($0).path) }
    }

    /// Whether a folder with a new catalog had another one, which is lost.
    private static func hadCatalog(_ folder: StoreFolder) throws(CloakroomError) -> Bool {
        switch try? folder.readOwner() {
        case .account, .unknown, nil: true
        // No photo was in a tier yet: the files are all there is.
        case .next: false
        case .some(.none): try !StoreFolder.names(in: folder.photos).isEmpty
        }
    }

    /// One that turns out to be damaged while it is opened is moved aside by a second attempt.
    private static func openCatalog(
        _ folder: StoreFolder, isWriter: Bool, on date: Date
    ) throws(CloakroomError) -> Catalog {
        func open() throws(CloakroomError) -> Catalog {
            let catalog = try Catalog(at: folder.catalog, isWriter: isWriter, on: date)
            if isWriter { try finishInterrupted(catalog, folder) }
            // What the store reads next.
            _ = try catalog.setting(.device)
            _ = try catalog.policy()
            return catalog
        }
        do { return try open() } catch {
            guard isWriter, StoreFolder.status(folder.catalog.appendingPathExtension("damaged")) != nil else {
                throw error
            }
            return try open()
        }
    }

    /// Whether this process may write.
    public var isWriter: Bool { lock != nil }

    /// Gives up the right to write until the next call that writes; photos that were fetched or viewed are recorded first.
    /// Runs, downloads, migrations and rebuilds that are under way are cancelled, and waited for, as are photos that are
    /// being added; what waits for a run is cancelled, too. What was cancelled goes on where it was when it is called again.
    ///
    /// For an app whose folder lies in a container that it shares with extensions: the system ends apps that hold a lock
    /// there while they are suspended.
    public func releaseLock() async throws {
        repeat {
            await endWork()
            await keepArrivals()
            // Whatever has begun meanwhile writes, too.
        } while isWorking
        // A full disk is no reason to keep the lock: what is forgotten was viewed less recently.
        try? writeViews()
        lock = nil
        hasAdoptedOrphans = false
    }

    /// - Throws: ``CloakroomError/Code/storeInUse``; ``CloakroomError/Code/storeFailed`` when another process has moved a
    ///   damaged catalog aside: then the folder has to be opened anew.
    func requireLock() throws {
        guard lock == nil else { return }
        guard let lock = try FolderLock(at: folder.lock) else {
            throw CloakroomError(.storeInUse, "another process writes to \(folder.url.lastPathComponent)")
        }
        guard catalog.isInPlace else {
            throw CloakroomError(
                .storeFailed,
                "another process has replaced the catalog of photos, or its volume gives a file another number (inode) "
                    + "each time it is mounted: open the store anew")
        }
        // Another process may have set it.
        if let known = try catalog.policy() { currentPolicy = known } else { try catalog.setPolicy(currentPolicy) }
        try Self.finishInterrupted(catalog, folder)
        self.lock = lock
        do { try readDevice() } catch {
            self.lock = nil
            throw error
        }
    }

    /// The inode, and when the system last changed it: no copy has the same time, as only the system sets it.
    package static let inode: @Sendable (URL) -> String? = { file in
        StoreFolder.status(file).map { "\($0.st_ino) \(StoreFolder.changeTime($0))" }
    }

    /// Whether two places are the same: by their first parts, or, where a volume gives files other inodes each time it is
    /// mounted, as some network volumes do, by their second ones. Earlier versions recorded the first alone.
    static func isSamePlace(_ place: String, _ known: String) -> Bool {
        let (place, known) = (place.split(separator: " "), known.split(separator: " "))
        if place.first == known.first { return true }
        return place.count == 2 && known.count == 2 && place[1] == known[1]
    }

    /// A folder that was copied, as by a backup that another phone was restored from, is another device's: with the same
    /// name each would count what the other has as its own.
    ///
    /// A volume that is mounted anew can give the same file another inode: it is told from a copy by ``isSamePlace(_:_:)``.
    /// A copy on another disk can have the same inode. Nothing that a file tells is surely better: the number of the disk
    /// changes with restarts, and copies keep dates and extended attributes. Such a copy is found out by the documents that
    /// it did not write, see ``DeviceDocuments/survey()``, as soon as one of the two has published something.
    func checkPlace() throws {
        guard let place = place(folder.lock) else { return }
        let known = try catalog.setting(.place)
        guard known != place else { return }
        if let known, !Self.isSamePlace(place, known) {
            try documents.changeDevice(deletingDocuments: false)
            device = documents.device
        }
        try catalog.set(.place, to: place)
    }

    // MARK: The policy

    /// How long photos stay on the device; kept over restarts.
    public var policy: RetentionPolicy { currentPolicy }

    public func setPolicy(_ policy: RetentionPolicy) throws {
        try requireLock()
        try catalog.setPolicy(policy)
        currentPolicy = policy
    }

    // MARK: Reading

    /// The photo of a name; `nil` when there is none.
    public func photo(named name: String) throws -> PhotoID? {
        try catalog.photo(named: name).map { PhotoID(rawValue: $0) }
    }

    /// A page of the timeline, newest first.
    ///
    /// - Parameter before: where the page before ended; `nil` for the first.
    public func thumbnails(before: TimelineCursor? = nil, limit: Int = 60) throws -> [TimelineItem] {
        let items = try catalog.timeline(before: before, limit: limit)
        guard !arrivals.isEmpty else { return items }
        return items.map { arrivals[$0.id.rawValue] == nil ? $0 : $0.moved(to: .both) }
    }

    /// A pinned photo never leaves the device; one that has left it comes back when it is opened.
    ///
    /// - Throws: ``CloakroomError/Code/noSuchPhoto``.
    public func pin(_ id: PhotoID, _ isPinned: Bool = true) throws {
        try requireLock()
        let changed = try catalog.perform { database throws(SQLiteError) in
            try database.run(
                "UPDATE photo SET pinned = ?, segment = CASE pinned WHEN ? THEN segment END WHERE id = ?",
                [isPinned ? 1 : 0, isPinned ? 1 : 0, .integer(id.rawValue)])
        }
        guard changed == 1 else { throw Self.noSuchPhoto(id) }
    }

    // MARK: Alarms

    /// What stops eviction, the oldest first.
    public func alarms() throws -> [TierAlarm] { try catalog.alarms() }

    /// Goes on after an alarm: the next run looks the whole cold tier through before anything leaves the device.
    ///
    /// ``TierAlarm/Kind/accountChanged`` is not dismissed: it ends with the first run after the user has signed in as before,
    /// or with ``acceptAccount(_:)``.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/accountChanged`` for that alarm, and
    ///   ``CloakroomError/Code/storeInUse``.
    public func dismissAlarm(_ kind: TierAlarm.Kind) throws {
        guard kind != .accountChanged else {
            throw CloakroomError(
                .accountChanged, "this alarm ends when the user signs in as before, or accepts the account")
        }
        try requireLock()
        try catalog.transaction { database throws(SQLiteError) in
            try database.run("DELETE FROM alarm WHERE kind = ?", [.text(kind.rawValue)])
            try database.set(.lastLook, to: nil)
        }
    }

    static func noSuchPhoto(_ id: PhotoID) -> CloakroomError {
        CloakroomError(.noSuchPhoto, "there is no photo \(id.rawValue)")
    }

    // MARK: Views

    func noteView(_ id: Int64) {
        views[id] = clock()
        // Written by the next run: a view is a hint, and what a kill forgets was viewed less recently.
    }

    func writeViews() throws {
        guard !views.isEmpty, lock != nil else { return }
        let written = views
        try catalog.transaction { database throws(SQLiteError) in try Catalog.keepViews(written, in: database) }
        views = [:]
    }
}
