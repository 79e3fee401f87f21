import Foundation

/// Which images are cached, which were used last, and which are never to be shown again.
///
/// It belongs to one ``ImageLoader``; the slow parts, reading and writing bytes, are those of ``ImageCacheFolder``.
struct ImageCache {
    private struct Entry {
        var image: CachedImage
        var lastUse: Date
        /// The same, as the file has it.
        var notedUse: Date

        init(_ image: CachedImage, lastUse: Date) {
            self.image = image
            self.lastUse = lastUse
            notedUse = lastUse
        }
    }

    let folder: ImageCacheFolder
    private let maximumBytes: Int64
    private var entries: [ImageID: Entry] = [:]
    /// Of images that are not shown any more.
    private var discarded = ImageMarks(suffix: ".discarded")
    /// Of ends that have passed, by ``ImageID/ending(at:)``: however many, they take no other mark's place.
    private var ended = ImageMarks(suffix: ".ended")
    private(set) var byteCount: Int64 = 0
    /// Nothing is written any more.
    private(set) var isClosed = false

    /// The time of use is written no more often.
    private static let useInterval: TimeInterval = 3600

    init(_ folder: ImageCacheFolder, maximumBytes: Int64, now: Date) {
        self.folder = folder
        self.maximumBytes = max(maximumBytes, 0)
        for file in folder.files() {
            if discarded.read(file) || ended.read(file) { continue }
            if let image = CachedImage(fileName: file.name), image.byteCount == file.byteCount,
                !image.hasEnded(at: now), entries[image.id] == nil
            {
                entries[image.id] = Entry(image, lastUse: file.modified)
                byteCount += image.byteCount
            } else {
                folder.remove(file.name)
            }
        }
        for id in discarded.ids { remove(id) }
        evict()
    }

    subscript(id: ImageID) -> CachedImage? { entries[id]?.image }

    var ids: [ImageID] { Array(entries.keys) }

    func isDiscarded(_ id: ImageID) -> Bool { discarded.contains(id) }

    /// Earlier versions had one list for both.
    func hasEnded(_ id: ImageID) -> Bool { ended.contains(id) || discarded.contains(id) }

    /// Gives a written file its name, and makes room for it.
    ///
    /// - Parameter temporary: what ``ImageCacheFolder/write(_:)`` gave.
    mutating func add(_ image: CachedImage, from temporary: String, now: Date) throws(CloakroomError) {
        // The same bytes under the same name are replaced in one step.
        if let old = entries[image.id]?.image, old != image { remove(image.id) }
        try folder.place(temporary, as: image.fileName)
        folder.touch(image.fileName, at: now)
        if entries[image.id] == nil { byteCount += image.byteCount }
        entries[image.id] = Entry(image, lastUse: now)
        for (id, entry) in entries where entry.image.hasEnded(at: now) { remove(id) }
        evict()
    }

    /// Notes that an image was shown, and its end where that was not known before.
    mutating func noteUse(_ id: ImageID, expiration: Date?, now: Date) {
        guard var entry = entries[id] else { return }
        if let end = expiration.map(CachedImage.seconds), entry.image.end == 0 || end < entry.image.end {
            let old = entry.image.fileName
            entry.image.end = end
            guard (try? folder.place(old, as: entry.image.fileName)) != nil else { return remove(id) }
        }
        if abs(now.timeIntervalSince(entry.notedUse)) >= Self.useInterval {
            folder.touch(entry.image.fileName, at: now)
            entry.notedUse = now
        }
        entry.lastUse = now
        entries[id] = entry
    }

    mutating func remove(_ id: ImageID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        byteCount -= entry.image.byteCount
        folder.remove(entry.image.fileName)
    }

    /// Removes an image, and remembers that it is not to be shown again.
    mutating func discard(_ id: ImageID, now: Date) {
        remove(id)
        discarded.insert(id, now: now, in: isClosed ? nil : folder)
    }

    /// Remembers that an image's end has passed, whatever the clock will say.
    ///
    /// - Parameter id: by ``ImageID/ending(at:)``.
    mutating func noteEnd(_ id: ImageID, now: Date) { ended.insert(id, now: now, in: isClosed ? nil : folder) }

    mutating func removeAll() {
        folder.removeAll()
        entries = [:]
        discarded.removeAll()
        ended.removeAll()
        byteCount = 0
    }

    mutating func close() { isClosed = true }

    /// A tenth more than necessary, so that not every image that comes has to look for others.
    private mutating func evict() {
        guard byteCount > maximumBytes else { return }
        let goal = maximumBytes - maximumBytes / 10
        for (id, _) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) where byteCount > goal {
            remove(id)
        }
    }
}
