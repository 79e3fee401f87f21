public import Foundation

/// Backs up a user's photos: each as `photos/{user}/{md5}.dat`, once, however many files have the same bytes.
///
///     let backup = PhotoBackup(client: client, layout: try PhotoLayout(userID: "u_1"), index: index)
///     let report = await backup.backUp(folder: pictures)
///
/// Photos that S3 has are not sent again: each run lists them, or looks for a few among many one by one, and only a complete,
/// successful response counts.
/// A run can end at any point, even by a kill: the next one continues from what S3 has.
public struct PhotoBackup: Sendable {
    /// What a run may do.
    public struct Options: Sendable {
        /// Files under way at once, at least 1; what of them is in memory is bounded by the client.
        public var filesAtOnce = 16
        /// Whether files and folders whose names begin with a dot belong to a folder's.
        public var includesHiddenFiles = false
        /// After so many consecutive files that failed because of S3 or the network, the run ends.
        public var maximumConsecutiveFailures = 8
        /// For how long a file counts as backed up, while it is unchanged, without a look into S3 once a run with an index
        /// has seen its photo there. Zero: each run looks. Until it has passed, a photo that was deleted in S3 is not
        /// noticed; with sidecars each run looks.
        ///
        /// With a week, a run with five new photos beside 50,000 stored ones sends a handful of requests and no listing.
        public var recheckInterval = Duration.zero

        public init() {}
    }

    let client: S3BackupClient
    let layout: PhotoLayout
    let index: PhotoIndex?
    let sidecars: (any PhotoSidecarProvider)?
    let options: Options

    /// - Parameters:
    ///   - index: spares reading files that have not changed; `nil` reads them all.
    ///   - sidecars: thumbnails and documents to be kept beside the photos.
    public init(
        client: S3BackupClient, layout: PhotoLayout, index: PhotoIndex? = nil,
        sidecars: (any PhotoSidecarProvider)? = nil, options: Options = Options()
    ) {
        self.client = client
        self.layout = layout
        self.index = index
        self.sidecars = sidecars
        self.options = options
    }

    /// Backs up the regular files of a folder and of the folders in it; symbolic links are left out.
    ///
    /// - Returns: what came of it, also of a run that failed or was cancelled.
    public func backUp(folder: URL, progress: BackupProgress.Observer? = nil) async -> BackupReport {
        do {
            return await backUp(try await files(in: folder), progress)
        } catch {
            var report = BackupReport()
            report.stoppedBy = CloakroomError(of: error)
            return report
        }
    }

    /// Backs up these files; a symbolic link among them is a failure of its own.
    ///
    /// - Returns: what came of it, also of a run that failed or was cancelled.
    public func backUp(_ files: [URL], progress: BackupProgress.Observer? = nil) async -> BackupReport {
        await backUp(await Self.files(files), progress)
    }

    /// Off the caller's actor, which may be the main one.
    @concurrent private func files(in folder: URL) async throws(CloakroomError) -> BackupFiles {
        try BackupFiles(in: folder, includingHidden: options.includesHiddenFiles)
    }

    @concurrent private static func files(_ files: [URL]) async -> BackupFiles { BackupFiles(files) }

    /// Up to how many files are looked for one by one, instead of by a listing of all that the user has: as many as cost
    /// less than the pages of the listing, by the least that it can have.
    private static func most(beside stored: Int) -> Int { max(4, stored / 50) }

    private func backUp(_ files: BackupFiles, _ progress: BackupProgress.Observer?) async -> BackupReport {
        let run = BackupRun(files, maximumConsecutiveFailures: options.maximumConsecutiveFailures, observer: progress)
        do {
            let stored = await storedInIndex(files.paths)
            if files.paths.count - stored.recent.count <= Self.most(beside: stored.count) {
                if !stored.recent.isEmpty { await run.skip(stored.recent) }
            } else {
                let listing = try await BackupListing(of: layout, from: client, withSidecars: sidecars != nil)
                await run.begin(with: listing)
            }
        } catch {
            await run.stop(CloakroomError(of: error))
        }
        return await complete(run, fileCount: files.paths.count)
    }

    /// Some of many files.
    ///
    /// - Parameter listing: of before, and then with what was stored; `nil` to look for each of them.
    func backUp(_ files: [URL], with listing: inout BackupListing?) async -> BackupReport {
        let files = await Self.files(files)
        let run = BackupRun(files, maximumConsecutiveFailures: options.maximumConsecutiveFailures, observer: nil)
        if let listing { await run.begin(with: listing) }
        let report = await complete(run, fileCount: files.paths.count)
        listing = await run.listing
        return report
    }

    private func complete(_ run: BackupRun, fileCount: Int) async -> BackupReport {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<min(max(options.filesAtOnce, 1), fileCount) { group.addTask { await work(run) } }
            for await _ in group where await run.isStopped { group.cancelAll() }
        }
        do { try await index?.flush() } catch { await run.noteIndexFailure(CloakroomError(of: error)) }
        return await run.finish()
    }

    /// What the index says: how many photos S3 has at least, and which of these files need no look into S3.
    private func storedInIndex(_ paths: [String]) async -> (count: Int, recent: [String: Int64]) {
        guard let index else { return (0, [:]) }
        let canSkip = options.recheckInterval > .zero && sidecars == nil
        let recent = canSkip ? await index.stored(paths, within: options.recheckInterval) : [:]
        return (await index.storedCount(), recent)
    }

    private func work(_ run: BackupRun) async {
        let upload = PhotoUpload(client: client, layout: layout, index: index, sidecars: sidecars, run: run)
        while let path = await run.next() {
            do {
                try await upload.backUp(path)
            } catch {
                await run.fail(path, CloakroomError(of: error))
            }
        }
    }
}
