import CloakroomKit
import CloakroomSQLite
import Foundation

/// A photo that has come from the cold tier: its file has its name, and is not surely on the disk.
struct Arrival: Sendable {
    /// Another one for each.
    let number: Int
    let file: URL
    let content: PhotoContent
    let row: PhotoRow

    /// Whether the file is there still, as far as its size says.
    var isHere: Bool { StoreFolder.status(file).map { Int64($0.st_size) } == content.byteCount }
}

/// Callers get a photo as soon as its bytes are there, and the disk takes its time: many share the waiting for it.
///
/// Until it is over, the record says that the photo is in the cold tier alone, as it is for all that the disk knows. A file
/// that is left by the end of the process is adopted after hashing.
extension TieredPhotoStore {
    /// Without an arrival: while one photo after the other is opened, the disk has nothing to wait for.
    private static let pause: Duration = .milliseconds(500)
    /// However many come.
    private static let longestPause: Duration = .seconds(5)

    func arrive(_ file: URL, _ content: PhotoContent, of row: PhotoRow) {
        lastArrival.number += 1
        lastArrival.time = .now
        arrivals[row.id] = Arrival(number: lastArrival.number, file: file, content: content, row: row)
        guard arrivalTask == nil else { return }
        let end = ContinuousClock.now + Self.longestPause
        // A store that is let go must not hold its lock until then.
        arrivalTask = Task { [weak self, sleep] in
            while let next = await self?.nextLook(before: end) {
                do { try await sleep(next) } catch { return }
            }
            await self?.keepArrivals()
        }
    }

    private func nextLook(before end: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        Self.nextLook(after: lastArrival.time, before: end, now: .now)
    }

    /// - Returns: `nil` when there was no arrival for long enough, or when it has taken too long.
    static func nextLook(
        after last: ContinuousClock.Instant, before end: ContinuousClock.Instant, now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant? {
        let next = min(last + pause, end)
        return next > now ? next : nil
    }

    /// Records what has arrived so far.
    ///
    /// - Parameter sync: has the disk hold photos, and their names in a folder; it gives those that it holds then.
    func keepArrivals(
        _ sync: @Sendable ([Arrival], URL) async -> [Arrival] = { await TieredPhotoStore.sync($0, in: $1) }
    ) async {
        arrivalTask?.cancel()
        arrivalTask = nil
        let batch = Array(arrivals.values)
        guard !batch.isEmpty else { return }
        let kept = await sync(batch, folder.photos)
        // Without the lock it is left to the next one who has it. What is not recorded is fetched again when it is opened
        // again.
        if isWriter { try? record(kept) }
        // Another call may have been here first, and a later fetch may be under way by now.
        for arrival in batch where arrivals[arrival.row.id]?.number == arrival.number {
            arrivals[arrival.row.id] = nil
            fetches[arrival.row.id] = nil
        }
    }

    /// - Parameter syncFile: has the bytes of a file survive a loss of power.
    /// - Returns: those that are on the disk then.
    @concurrent static func sync(
        _ arrivals: [Arrival], in folder: URL,
        syncFile: @Sendable (URL) throws(CloakroomError) -> Void = { file throws(CloakroomError) in
            try StoreFolder.syncFile(file)
        }
    ) async -> [Arrival] {
        // A photo that was removed meanwhile, or a part of the disk that fails, is no reason to fetch the others again.
        let synced = arrivals.filter { arrival in
            do throws(CloakroomError) {
                try syncFile(arrival.file)
                return true
            } catch {
                return false
            }
        }
        do throws(CloakroomError) { try StoreFolder.sync(folder) } catch { return [] }
        return synced
    }

    private func record(_ batch: [Arrival]) throws(CloakroomError) {
        try catalog.transaction { database throws(SQLiteError) in
            for arrival in batch {
                let (row, content) = (arrival.row, arrival.content)
                // Removed meanwhile.
                guard let now = try Catalog.photo(row.id, in: database), now.md5 == row.md5, arrival.isHere
                else { continue }
                // A photo without a known SHA-256 may turn out to be one that is here under another id: both may have
                // the file.
                let isTaken = try database.first(
                    "SELECT 1 FROM photo WHERE sha256 = ? AND id <> ?", [.blob(content.sha256), .integer(row.id)]
                ) { _ in true }
                guard isTaken == nil else { continue }
                let format = now.sha256 == nil ? content.format : now.format
                try Catalog.arrive(now, content, format: format, in: database)
            }
        }
    }
}
