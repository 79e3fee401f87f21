import Foundation

/// One run of a backup: which file is next, what S3 has, what came of it all. Every file passes here twice.
actor BackupRun {
    /// What to do about a photo.
    enum Claim {
        /// The caller has it now, and says what becomes of it.
        case upload(RemoteState)
        case alreadyThere
        /// An equal one is under way; this file comes again when that is done.
        case later
    }

    /// What S3 said of a photo that is to be stored.
    enum RemoteState {
        case absent
        /// Of another size: not this photo, whatever its name.
        case different
        /// No request was sent.
        case unknown
    }

    private var waiting: [String]
    /// `nil`: one request to S3 for each file.
    private(set) var listing: BackupListing?
    /// What was stored or found in this run.
    private var stored: Set<PhotoDigest> = []
    private var report = BackupReport()
    private var progress: BackupProgress
    /// Photos under way, and files equal to them.
    private var claims: [PhotoDigest: [String]] = [:]
    /// Bytes of large files under way.
    private var moved: [String: Int64] = [:]
    private var consecutiveFailures: ConsecutiveFailures
    private let observer: BackupProgress.Observer?

    init(_ files: BackupFiles, maximumConsecutiveFailures: Int, observer: BackupProgress.Observer?) {
        waiting = files.paths.reversed()
        consecutiveFailures = ConsecutiveFailures(most: maximumConsecutiveFailures)
        self.observer = observer
        report.failures = files.unreadable
        progress = BackupProgress(filesTotal: files.paths.count, bytesTotal: files.byteCount)
    }

    func begin(with listing: BackupListing) { self.listing = listing }

    /// These need nothing, as the index says.
    ///
    /// - Parameter files: how many bytes each has.
    func skip(_ files: [String: Int64]) {
        waiting.removeAll { files[$0] != nil }
        for (path, byteCount) in files { settle(path, byteCount: byteCount, uploaded: 0, isNew: false) }
    }

    var hasListing: Bool { listing != nil }

    /// - Returns: `nil` when there is nothing more to begin.
    func next() -> String? {
        if Task.isCancelled { stop(CloakroomError(.cancelled, "the backup was cancelled")) }
        guard report.stoppedBy == nil else { return nil }
        return waiting.popLast()
    }

    /// Whether S3 has a photo, of this size, as it said in this run.
    func has(_ digest: PhotoDigest, byteCount: Int64) -> Bool {
        stored.contains(digest) || listing?.byteCount(of: digest) == byteCount
    }

    func has(_ sidecar: PhotoSidecar, of digest: PhotoDigest) -> Bool { listing?.has(sidecar, of: digest) ?? false }

    func claim(_ digest: PhotoDigest, byteCount: Int64, path: String) -> Claim {
        if has(digest, byteCount: byteCount) { return .alreadyThere }
        if claims[digest] != nil {
            claims[digest]?.append(path)
            return .later
        }
        claims[digest] = []
        guard let listing else { return .upload(.unknown) }
        return .upload(listing.byteCount(of: digest) == nil ? .absent : .different)
    }

    /// S3 has the photo that was claimed.
    func store(_ digest: PhotoDigest, byteCount: Int64) {
        stored.insert(digest)
        listing?.add(digest, byteCount: byteCount)
        giveUp(digest)
    }

    /// What was claimed is free again; files equal to it have their turn.
    func giveUp(_ digest: PhotoDigest) { waiting += claims.removeValue(forKey: digest) ?? [] }

    /// So much of a large file is on its way.
    func move(_ path: String, bytes: Int64) {
        progress.bytesDone += bytes - (moved.updateValue(bytes, forKey: path) ?? 0)
        progress.current = URL(fileURLWithPath: path)
        observer?(progress)
    }

    /// A file is done.
    ///
    /// - Parameter bytes: that S3 stored for it.
    func settle(_ path: String, byteCount: Int64, uploaded bytes: Int64, isNew: Bool) {
        consecutiveFailures.end()
        report.bytesUploaded += bytes
        if isNew { report.backedUp += 1 } else { report.alreadyThere += 1 }
        reportProgress(path, byteCount)
    }

    func fail(_ path: String, _ error: CloakroomError) {
        // A transfer cancelled by the end of the run is not a failure.
        guard report.stoppedBy == nil, error.code != .cancelled else {
            stop(error)
            report.remaining += 1
            return
        }
        report.failures.append(.init(file: URL(fileURLWithPath: path), error: error))
        if consecutiveFailures.exceedsLimit(with: error) { stop(error) }
        reportProgress(path, 0)
    }

    /// The index is a cache: the run continues without it.
    func noteIndexFailure(_ error: CloakroomError) { if report.indexFailure == nil { report.indexFailure = error } }

    var isStopped: Bool { report.stoppedBy != nil }

    /// - Returns: the result after the last task has ended.
    func finish() -> BackupReport {
        report.remaining += waiting.count
        waiting = []
        return report
    }

    func stop(_ error: CloakroomError) { if report.stoppedBy == nil { report.stoppedBy = error } }

    private func reportProgress(_ path: String, _ byteCount: Int64) {
        progress.filesDone += 1
        progress.bytesDone += byteCount - (moved.removeValue(forKey: path) ?? 0)
        progress.current = URL(fileURLWithPath: path)
        observer?(progress)
    }
}
