import CloakroomKit
import CloakroomSQLite
import Foundation

extension TieredPhotoStore {
    /// Photos fetched at once.
    private static let fetchesAtOnce = 8
    /// Room that stays free, in bytes: the catalog and the system need some.
    static let reserve: Int64 = 64 << 20

    /// Fetches all photos, and keeps them: the policy's period becomes ``RetentionPolicy/Period/forever``.
    ///
    /// It begins only when there is room for all of them, and when a run that is under way has ended; ended early, it goes on
    /// where it was the next time.
    /// - Parameter progress: photos that are done, of those that were not on the device.
    public func restoreAll(
        progress: (@Sendable (_ done: Int, _ total: Int) -> Void)? = nil
    ) async -> DownloadReport {
        do { return try await writing(isLong: true) { await $0.restore(progress) } } catch {
            var report = DownloadReport()
            report.stoppedBy = CloakroomError(of: error)
            return report
        }
    }

    private func restore(_ progress: (@Sendable (Int, Int) -> Void)?) async -> DownloadReport {
        var report = DownloadReport()
        do {
            let ids = try catalog.ids(
                "SELECT id FROM photo WHERE \(PhotoState.leftSQL) ORDER BY state, taken_at DESC, id")
            let bytes = try catalog.count(
                "SELECT coalesce(sum(byte_count), 0) FROM photo WHERE \(PhotoState.sql(.cold))")
            if let free = folder.freeBytes, free < bytes + Self.reserve {
                throw CloakroomError(.diskFull, "\(bytes) bytes are to be fetched, and \(free) are free")
            }
            var kept = policy
            kept.period = .forever
            try setPolicy(kept)
            // What is about to leave the device would have to be fetched at once.
            try await waitForRun()
            do { try await restore(ids, &report, progress) } catch {
                await keepArrivals()
                throw error
            }
            await keepArrivals()
        } catch {
            report.stoppedBy = CloakroomError(of: error)
        }
        return report
    }

    private func restore(
        _ ids: [Int64], _ report: inout DownloadReport, _ progress: (@Sendable (Int, Int) -> Void)?
    ) async throws {
        var failures = ConsecutiveFailures(most: 8)
        var rest = ids[...]
        var (running, done) = (0, 0)
        var stop: CloakroomError?
        try await withThrowingTaskGroup(of: (Int64, Result<Int64?, CloakroomError>).self) { group in
            while stop == nil || running > 0 {
                while stop == nil, running < Self.fetchesAtOnce, let id = rest.popFirst() {
                    guard !Task.isCancelled else {
                        stop = .cancelled
                        break
                    }
                    running += 1
                    group.addTask { [self] in
                        do {
                            try Task.checkCancellation()
                            return (id, .success(try await restore(id)))
                        } catch {
                            return (id, .failure(CloakroomError(of: error)))
                        }
                    }
                }
                guard running > 0, let (id, result) = try await group.next() else { break }
                running -= 1
                // It is not done: it may be on its way.
                if case .failure(let error) = result, error.code == .cancelled {
                    stop = error
                    continue
                }
                done += 1
                progress?(done, ids.count)
                switch result {
                case .success(nil): break
                case .success(let size?):
                    failures.end()
                    report.restored += 1
                    report.restoredBytes += size
                case .failure(let error) where error.code == .photoMissing: report.missing += 1
                case .failure(let error):
                    if report.failures.count < 100 {
                        report.failures.append(.init(photo: PhotoID(rawValue: id), error: error))
                    }
                    if failures.exceedsLimit(with: error) { stop = error }
                }
            }
        }
        if let stop { throw stop }
    }

    /// - Returns: how many bytes came; `nil` for a photo that was opened or removed since they were counted.
    private func restore(_ id: Int64) async throws -> Int64? {
        guard let row = try catalog.photo(id), row.state.hasLeft else { return nil }
        // Not `open`: that would count as viewed. Cancelled, it waits no longer, and the photos that are under way arrive by
        // themselves.
        let url = try await fetch(PhotoID(rawValue: id)).file(within: nil)
        return StoreFolder.status(url).map { Int64($0.st_size) } ?? 0
    }
}
