public import Foundation

/// Backs up a source of photos: all of it the first time, and what is new or changed after that.
///
/// ```swift
/// let backup = SourceBackup(
///     source: FolderPhotoSource(pictures), client: s3, layout: layout,
///     journal: try SourceJournal(at: file, owner: owner), folder: scratch)
/// let report = await backup.run()
/// ```
///
/// A run can end at any point, even by a kill: what is stored is in the journal, and the source is asked for later changes only
/// once all earlier ones are stored, or recorded as failed. What failed, and what a run was exporting when it was cancelled or
/// its process ended, is attempted again after what is new, so that no photo keeps the others. A run whose exports all fail
/// ends. Photos that the source has no more stay in the bucket.
public actor SourceBackup {
    private let source: any PhotoSource
    private let backup: PhotoBackup
    private let client: S3BackupClient
    private let layout: PhotoLayout
    private let journal: SourceJournal
    private let folder: URL
    private let conditions: any RunConditions
    private let requirements: TransferConditions
    private var ongoing: SharedRun<SourceBackupReport>?
    /// Of the run in progress, so far.
    private var reported = SourceBackupReport()
    /// Of its callers.
    private var observers: [Int: @Sendable (SourceBackupReport) -> Void] = [:]
    private var lastCaller = 0

    /// Photos that are exported, and stored, together: after so many, or so many bytes, the page is stored.
    private static let page = 32
    private let pageByteCount: Int64
    /// After so many that were looked for one by one, the user's photos in S3 are listed.
    private static let lookups = 256
    /// Of what failed in earlier runs, one run attempts photos again until so many have failed once more.
    private static let retries = 64
    /// After so many exports in a row that failed because of the network, the run ends.
    private static let maximumConsecutiveFailures = 8
    /// After so many that failed for whatever reason, too: it is the source that fails, not each of its photos.
    private static let maximumConsecutiveFailuresOfAny = 64

    /// - Parameters:
    ///   - client: over networks that cost nothing, unless the user allows more.
    ///   - journal: which photos are stored; of this source alone.
    ///   - folder: for files that have to be made of photos; emptied by each run, so for this alone.
    ///   - conditions: power and network as they are; by default those of the device on Apple's systems, and on others any.
    ///   - requirements: what they have to be for a photo to be exported, which may download it; the networks are those of
    ///     `client`.
    public init(
        source: any PhotoSource, client: S3BackupClient, layout: PhotoLayout, journal: SourceJournal, folder: URL,
        conditions: (any RunConditions)? = nil,
        requirements: TransferConditions = TransferConditions(network: .inexpensive)
    ) {
        self.init(
            source: source, client: client, layout: layout, journal: journal, folder: folder, conditions: conditions,
            requirements: requirements, pageByteCount: 64 << 20)
    }

    init(
        source: any PhotoSource, client: S3BackupClient, layout: PhotoLayout, journal: SourceJournal, folder: URL,
        conditions: (any RunConditions)? = nil,
        requirements: TransferConditions = TransferConditions(network: .inexpensive), pageByteCount: Int64
    ) {
        self.source = source
        self.client = client
        self.layout = layout
        self.journal = journal
        self.folder = folder
        self.conditions = conditions ?? DeviceConditions.ofThisDevice
        self.requirements = requirements
        self.pageByteCount = pageByteCount
        backup = PhotoBackup(client: client, layout: layout)
    }

    /// Stores what is not stored yet; a call meanwhile waits for the same run.
    ///
    /// A caller whose task is cancelled leaves the run to the others; when the last one is, the run ends.
    ///
    /// - Parameter progress: called after each few photos, with the report so far, from any thread.
    /// - Returns: what came of it, also of a run that failed or was cancelled; for a caller that has left it to others, what had
    ///   come of it by then.
    @discardableResult
    public func run(progress: (@Sendable (SourceBackupReport) -> Void)? = nil) async -> SourceBackupReport {
        while let ongoing, ongoing.isCancelled { await ongoing.end() }
        let run = ongoing ?? begin()
        lastCaller += 1
        let caller = lastCaller
        observers[caller] = progress
        defer { observers[caller] = nil }
        if let report = await run.value() { return report }
        var report = reported
        report.stoppedBy = .cancelled
        return report
    }

    /// How many wait for the run in progress.
    var callerCount: Int { ongoing?.callerCount ?? 0 }

    private func begin() -> SharedRun<SourceBackupReport> {
        let run = SharedRun { await self.perform() }
        ongoing = run
        reported = SourceBackupReport()
        return run
    }

    private func perform() async -> SourceBackupReport {
        defer { ongoing = nil }
        var run = Run()
        do {
            try emptyFolder()
            try await journal.failUnendedExport()
            let token = try await journal.token()
            let earlier = Set(try await journal.failures())
            run.later = earlier
            let changes = try await source.changes(since: token)
            // Of a source that names everything, most may be there from an earlier installation.
            if token == nil { run.listing = try await list() }
            try await add(changes, to: &run)
            try await replaceFailures(by: changes, &run)
            try await journal.saveToken(changes.token)
            run.later = []
            // Without those that were stored, or failed again, as another version.
            let failures = try await journal.failures().filter { earlier.contains($0) }
            let failedBefore = run.failed.count
            // That these fail in a row says nothing of the source.
            run.consecutiveFailures = ConsecutiveFailures(most: Self.maximumConsecutiveFailures)
            for photo in failures where run.failed.count < failedBefore + Self.retries {
                try await add(photo, to: &run)
                // None waits for the export of another, which may fail once more.
                try await finishPage(&run)
            }
            let failed = run.failed
            run.report.remaining = try await journal.failures().count { !failed.contains($0.id) }
        } catch {
            run.report.stoppedBy = CloakroomError(of: error)
        }
        try? await journal.endExport()
        try? emptyFolder()
        return run.report
    }

    private struct Run {
        var report = SourceBackupReport()
        /// `nil`: each photo is looked for.
        var listing: BackupListing?
        var lookups = 0
        var page = Page()
        /// Which failed in this run, by their names.
        var failed: Set<String> = []
        /// Which failed in earlier runs: what is new comes first.
        var later: Set<SourcePhoto> = []
        var consecutiveFailures = ConsecutiveFailures(
            most: SourceBackup.maximumConsecutiveFailures, ofAny: SourceBackup.maximumConsecutiveFailuresOfAny)
    }

    /// Photos that were exported to be stored together, and those that could not be.
    private struct Page {
        var files: [(photo: SourcePhoto, url: URL)] = []
        var byteCount: Int64 = 0
        var gone: [SourcePhoto] = []
        var failures: [SourceBackupReport.Failure] = []

        var photos: [SourcePhoto] { files.map(\.photo) + gone + failures.map(\.photo) }
    }

    private func add(_ changes: PhotoChanges, to run: inout Run) async throws {
        var isNaming = true
        do {
            for try await photo in changes.photos {
                isNaming = false
                try await add(photo, to: &run)
                isNaming = true
            }
        } catch {
            // What a source named before it failed is stored all the same.
            if isNaming { try await finishPage(&run) }
            throw error
        }
        try await finishPage(&run)
    }

    /// Clears the failures that others take the place of, or none. Before the token is stored: later changes do not say it again.
    private func replaceFailures(by changes: PhotoChanges, _ run: inout Run) async throws {
        for failure in try await journal.failures() {
            guard let replacements = try await changes.replacements(failure) else { continue }
            for photo in replacements {
                // It may have been named itself, too.
                if try await !journal.isStored(photo) { try await add(photo, to: &run) }
            }
            try await finishPage(&run)
            try await journal.save(stored: [], gone: [failure], failed: [])
            run.report.failures.removeAll { $0.photo == failure }
        }
    }

    private func add(_ photo: SourcePhoto, to run: inout Run) async throws {
        if run.failed.contains(photo.id) || run.later.contains(photo) || run.page.photos.contains(photo) { return }
        if try await journal.isStored(photo) {
            run.report.alreadyThere += 1
            return
        }
        try await export(photo, &run)
        guard run.page.photos.count == Self.page || run.page.byteCount >= pageByteCount else { return }
        try await finishPage(&run)
    }

    private func finishPage(_ run: inout Run) async throws {
        try Task.checkCancellation()
        guard !run.page.photos.isEmpty else { return }
        try await store(&run)
        reported = run.report
        for observer in observers.values { observer(reported) }
    }

    private func list() async throws -> BackupListing {
        try await BackupListing(of: layout, from: client, withSidecars: false)
    }

    /// - Throws: what ends the run.
    private func export(_ photo: SourcePhoto, _ run: inout Run) async throws {
        try Task.checkCancellation()
        // An export downloads what is only in iCloud, over any network.
        try requirements.check(await conditions.current())
        do {
            try await journal.beginExport(of: photo)
            let file = try await source.file(of: photo, in: folder)
            run.page.files.append((photo, file))
            run.page.byteCount += (try? FileStamp(path: file.path))?.byteCount ?? 0
            run.consecutiveFailures.end()
        } catch {
            let error = CloakroomError(of: error)
            switch error.code {
            case .noSuchObject: run.page.gone.append(photo)
            case .cancelled:
                // It may take longer than the app has: later runs begin with the others.
                let page = run.page
                try await journal.save(stored: [], gone: page.gone, failed: page.failures.map(\.photo) + [photo])
                throw error
            case .diskFull where !run.page.photos.isEmpty:
                // The files of the page leave the disk when they are stored.
                try await finishPage(&run)
                try await export(photo, &run)
            default:
                run.page.failures.append(.init(photo: photo, error: error))
                guard run.consecutiveFailures.exceedsLimit(with: error, isOfOne: error.code == .diskFull) else {
                    return
                }
                try await finishPage(&run)
                throw error
            }
        }
    }

    /// Stores the page.
    ///
    /// - Throws: what ends the run.
    private func store(_ run: inout Run) async throws {
        let page = run.page
        run.page = Page()
        run.lookups += page.photos.count
        if run.listing == nil, run.lookups > Self.lookups { run.listing = try await list() }
        let outcome = await backup.backUp(page.files.map(\.url), with: &run.listing)
        run.report.add(outcome)
        let errors = Dictionary(outcome.failures.map { ($0.file.path, $0.error) }) { first, _ in first }
        var stored: [SourcePhoto] = []
        var failures = page.failures
        for (photo, url) in page.files {
            if let error = errors[url.path] {
                failures.append(.init(photo: photo, error: error))
            } else if outcome.stoppedBy == nil {
                stored.append(photo)
            }
        }
        run.failed.formUnion(failures.map(\.photo.id))
        run.report.failures += failures
        try await journal.save(stored: stored, gone: page.gone, failed: failures.map(\.photo))
        try emptyFolder()
        if let error = outcome.stoppedBy { throw error }
    }

    /// What is in it was made of photos, in this run or in one that was killed.
    private func emptyFolder() throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            try FileManager.default.removeItem(at: file)
        }
    }
}

/// What one run of a ``SourceBackup`` did.
public struct SourceBackupReport: Sendable, Equatable {
    /// Photos that were stored in this run.
    public internal(set) var backedUp = 0
    /// Photos that were stored before.
    public internal(set) var alreadyThere = 0
    public internal(set) var bytesUploaded: Int64 = 0
    /// What could not be stored, and why; a later run tries again.
    public internal(set) var failures: [Failure] = []
    /// Photos that failed in earlier runs, and that this one left to later ones.
    public internal(set) var remaining = 0
    /// Why the run ended early; `nil` when every photo was attempted.
    public internal(set) var stoppedBy: CloakroomError?

    /// Whether S3 has every photo that the source named.
    public var isComplete: Bool { stoppedBy == nil && failures.isEmpty && remaining == 0 }

    /// One photo, and why S3 does not have it.
    public struct Failure: Sendable, Equatable {
        public let photo: SourcePhoto
        public let error: CloakroomError
    }

    mutating func add(_ page: BackupReport) {
        backedUp += page.backedUp
        alreadyThere += page.alreadyThere
        bytesUploaded += page.bytesUploaded
    }
}
