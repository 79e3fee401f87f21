package import CloakroomAWS
package import CloakroomLoop
package import CloakroomServer

/// Lists what users have stored, page by page, and adds it up.
@LoopActor
package struct UsageScan {
    package enum ScanError: Error, Sendable, Equatable {
        case s3(AWSError)
        case records(UserRecordError)
        /// The store gives the same page again and again.
        case noProgress
        /// What was counted could not be kept for the case of an interruption.
        case notKept
        case cancelled
    }

    package typealias List = @LoopActor (String, S3Client.ListPosition) async -> Result<ObjectPage, AWSError>

    private let interval: Duration
    private let list: List
    private let keep: @LoopActor ([UInt8]) -> Bool
    private let onPage: @LoopActor (UsageTotals) -> Void

    /// - Parameters:
    ///   - interval: from the beginning of one request to that of the next.
    ///   - keep: puts a line where it outlasts the process; `false` if it could not.
    ///   - onPage: told after every page.
    package init(
        interval: Duration, list: @escaping List, keep: @escaping @LoopActor ([UInt8]) -> Bool,
        onPage: @escaping @LoopActor (UsageTotals) -> Void
    ) {
        self.interval = interval
        self.list = list
        self.keep = keep
        self.onPage = onPage
    }

    /// - Parameter totals: empty, or those of a scan that was interrupted.
    package func run(from totals: UsageTotals) async throws(ScanError) -> UsageTotals {
        var totals = totals
        var position: S3Client.ListPosition = totals.lastKey.map { .after(key: $0) } ?? .start
        var progress = ListingProgress()
        while !totals.isComplete {
            let next = ContinuousClock.now + interval
            let page: ObjectPage
            switch await list(totals.listed, position) {
            case .success(let answer): page = answer
            case .failure(let fault): throw .s3(fault)
            }
            guard progress.advances(page) else { throw .noProgress }
            if page.continuation == nil { progress = ListingProgress() }
            guard keep(totals.add(page)) else { throw .notKept }
            onPage(totals)
            position = page.continuation.map { .continuation($0) } ?? .start
            guard !totals.isComplete, ContinuousClock.now < next else { continue }
            do throws(CancellationError) { try await LoopActor.sleep(for: next - .now) } catch { throw .cancelled }
        }
        return totals
    }
}

extension UserRecords {
    /// Writes what a scan counted; after one of all users, those without objects have zero in the record, too.
    ///
    /// - Returns: how many users were written; and whose key holds no record, who are left as they are.
    package func record(
        _ totals: UsageTotals
    ) async throws(UserRecordError) -> (written: Int, unreadable: [UserID]) {
        var written = 0
        var unreadable: [UserID] = []
        func write(_ size: Int, of user: UserID) async throws(UserRecordError) {
            do throws(UserRecordError) { try await recordUsage(size, of: user) } catch .malformed {
                unreadable.append(user)
                return
            }
            written += 1
        }
        var bytes = totals.bytes
        if let user = totals.subject.user { bytes[user, default: 0] += 0 }
        for (user, size) in bytes { try await write(size, of: user) }
        guard totals.subject.user == nil else { return (written, unreadable) }
        var cursor = "0"
        repeat {
            let (users, next) = try await page(from: cursor)
            for user in users where bytes[user] == nil { try await write(0, of: user) }
            cursor = next
        } while cursor != "0"
        return (written, unreadable)
    }
}
