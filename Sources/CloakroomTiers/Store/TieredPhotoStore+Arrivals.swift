import CloakroomKit
import CloakroomSQLite
import Foundation

/// A photo that has come from the cold tier: its file has its name, and is not surely on the disk.
struct Arrival: Sendable {
    let file: URL
    let content: PhotoContent
    let row: PhotoRow
}

/// Callers get a photo as soon as its bytes are there, and the disk takes its time: many share the waiting for it.
///
/// Until it is over, the record says that the photo is in the cold tier alone, as it is for all that the disk knows. A file
/// that is left by the end of the process is adopted after hashing.
extension TieredPhotoStore {
    private static let pause: Duration = .milliseconds(500)

    func arrive(_ arrival: Arrival) {
        arrivals[arrival.row.id] = arrival
        guard arrivalTask == nil else { return }
        // A store that is let go must not hold its lock until then.
        arrivalTask = Task { [weak self] in
            try? await Task.sleep(for: Self.pause)
            await self?.keepArrivals()
        }
    }

    /// Records what has arrived so far.
    func keepArrivals() async {
        arrivalTask?.cancel()
        arrivalTask = nil
        let batch = Array(arrivals.values)
        guard !batch.isEmpty else { return }
        do {
            try await Self.sync(batch.map(\.file), in: folder.photos)
            // Without the lock it is left to the next one who has it.
            if isWriter { try record(batch) }
        } catch {
            // They are fetched again when they are opened again.
        }
        for arrival in batch {
            arrivals[arrival.row.id] = nil
            fetches[arrival.row.id] = nil
        }
    }

    @concurrent private static func sync(_ files: [URL], in folder: URL) async throws(CloakroomError) {
        for file in files where StoreFolder.status(file) != nil { try StoreFolder.syncFile(file) }
        try StoreFolder.sync(folder)
    }

    private func record(_ batch: [Arrival]) throws(CloakroomError) {
        try catalog.transaction { database throws(SQLiteError) in
            for arrival in batch {
                let (row, content) = (arrival.row, arrival.content)
                // Removed meanwhile.
                guard let now = try Catalog.photo(row.id, in: database), now.md5 == row.md5 else { continue }
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
