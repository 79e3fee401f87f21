import CloakroomKit
import CloakroomTiers
import Foundation

/// `cloakroom-sample tier add`
enum TierAdd {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state", "days-ago"])
        if options.wantsHelp { return Console.print(help) }
        guard !options.operands.isEmpty else { throw UsageError("tier add needs a file or a folder") }
        let addedAt = try options.values["days-ago"].map(date)
        let photos = try options.operands.flatMap(photos)
        let store = try TierStore.open(options)
        let failures = try await ProgressBar.during { report in
            try await add(photos, at: addedAt, to: store) { report(ProgressBar.Value($0, of: photos.count)) }
        }
        for failure in failures { TierOutput.printError(failure.error, failure.photo.name) }
        Console.print("added \(photos.count - failures.count), failed \(failures.count)")
        return failures.isEmpty ? 0 : 1
    }

    private struct Photo: Sendable {
        var file: URL
        /// The path below the folder that was given.
        var name: String
    }

    private struct Failure: Sendable {
        var photo: Photo
        var error: CloakroomError
    }

    /// Thumbnails take most of the time, and each takes one core.
    private static let atOnce = 4

    private static func add(
        _ photos: [Photo], at date: Date?, to store: TieredPhotoStore, progress: (Int) -> Void
    ) async throws -> [Failure] {
        try await withThrowingTaskGroup(of: Failure?.self) { group in
            var failures: [Failure] = []
            for (index, photo) in photos.enumerated() {
                if index >= atOnce, let failure = try await group.next() ?? nil { failures.append(failure) }
                progress(index)
                group.addTask { try await add(photo, at: date, to: store) }
            }
            for try await failure in group { failure.map { failures.append($0) } }
            return failures
        }
    }

    /// A camera's date stands in the photo; the file's has to do here.
    private static func add(_ photo: Photo, at date: Date?, to store: TieredPhotoStore) async throws -> Failure? {
        do {
            let values = try? photo.file.resourceValues(forKeys: [.contentModificationDateKey])
            let takenAt = values?.contentModificationDate ?? Date()
            try await store.add(photo.file, name: photo.name, takenAt: takenAt, addedAt: date)
            return nil
        } catch let error as CloakroomError {
            return Failure(photo: photo, error: error)
        }
    }

    private static func date(daysAgo text: String) throws -> Date {
        guard let days = Int(text), 0...36_500 ~= days else { throw UsageError("\(text) is no number of days") }
        return Date().addingTimeInterval(-Double(days) * 86_400)
    }

    private static func photos(at path: String) throws -> [Photo] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw UsageError("there is no \(path)")
        }
        let place = URL(fileURLWithPath: path)
        guard isFolder.boolValue else { return [Photo(file: place, name: place.lastPathComponent)] }
        let files = FileManager.default.enumerator(
            at: place, includingPropertiesForKeys: [.isRegularFileKey], options: .skipsHiddenFiles)
        let start = place.resolvingSymlinksInPath().path.utf8.count + 1
        return (files?.compactMap { $0 as? URL } ?? [])
            .filter { (try? $0.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true }
            .map { Photo(file: $0, name: String($0.resolvingSymlinksInPath().path.utf8.dropFirst(start)) ?? $0.path) }
            .sorted { $0.name < $1.name }
    }

    private static let help = """
        Usage: cloakroom-sample tier add [--days-ago N] PATH…

        Copies photos into the store: a file, or all files of a folder and of the folders in it. A photo's name is its path
        below the folder that was given, or the file's name. The files stay where they are. Photos that are there already
        are not stored again.

        Options:
          --days-ago N   their age on this device begins N days ago, to see at once what happens to old photos. To set
                         this device's clock would not show it: S3's clock counts.

        Example:
          cloakroom-sample tier add --days-ago 31 ~/Pictures
        """
}
