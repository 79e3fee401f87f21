import Foundation

/// One run of a restore: which photo is next, and what came of them.
actor RestoreRun {
    private var waiting: [PhotoRestore.Photo]
    private var report = RestoreReport()
    private var progress: BackupProgress
    private var consecutiveFailures: ConsecutiveFailures
    private let observer: BackupProgress.Observer?

    init(_ photos: [PhotoRestore.Photo], maximumConsecutiveFailures: Int, observer: BackupProgress.Observer?) {
        waiting = photos.reversed()
        consecutiveFailures = ConsecutiveFailures(most: maximumConsecutiveFailures)
        self.observer = observer
        progress = BackupProgress(
            filesTotal: photos.count, bytesTotal: photos.reduce(0) { Self.sum($0, max(0, $1.byteCount)) })
    }

    /// - Returns: `nil` when there is nothing more to begin.
    func next() -> PhotoRestore.Photo? {
        if Task.isCancelled { stop(CloakroomError(.cancelled, "the restore was cancelled")) }
        guard report.stoppedBy == nil else { return nil }
        return waiting.popLast()
    }

    /// - Parameter bytes: that came for it; `nil` when it was there.
    func settle(_ photo: PhotoRestore.Photo, downloaded bytes: Int64?) {
        consecutiveFailures.end()
        if let bytes {
            report.restored += 1
            report.bytesDownloaded += bytes
        } else {
            report.alreadyThere += 1
        }
        reportProgress(photo, max(0, photo.byteCount))
    }

    func fail(_ photo: PhotoRestore.Photo, _ error: CloakroomError) {
        // A transfer cancelled by the end of the run is not a failure.
        guard report.stoppedBy == nil, error.code != .cancelled else {
            stop(error)
            report.remaining += 1
            return
        }
        report.failures.append(.init(key: photo.key, error: error))
        if consecutiveFailures.exceedsLimit(with: error) { stop(error) }
        reportProgress(photo, 0)
    }

    var isStopped: Bool { report.stoppedBy != nil }

    /// - Returns: the result after the last task has ended.
    func finish() -> RestoreReport {
        report.remaining += waiting.count
        waiting = []
        return report
    }

    private func stop(_ error: CloakroomError) { if report.stoppedBy == nil { report.stoppedBy = error } }

    /// Sizes are what a store says they are.
    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, exceedsLimit) = left.addingReportingOverflow(right)
        return exceedsLimit ? .max : sum
    }

    private func reportProgress(_ photo: PhotoRestore.Photo, _ byteCount: Int64) {
        progress.filesDone += 1
        progress.bytesDone = Self.sum(progress.bytesDone, byteCount)
        progress.current = URL(fileURLWithPath: photo.key)
        observer?(progress)
    }
}
