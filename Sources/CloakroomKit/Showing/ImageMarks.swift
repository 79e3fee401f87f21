import Foundation

/// Images, or their ends, that are remembered over launches: each by an empty file of its name. When there are too many, the
/// oldest are forgotten.
struct ImageMarks {
    static let maximumCount = 10_000

    private let suffix: String
    /// Since when.
    private var dates: [ImageID: Date] = [:]

    init(suffix: String) { self.suffix = suffix }

    var ids: [ImageID] { Array(dates.keys) }

    func contains(_ id: ImageID) -> Bool { dates[id] != nil }

    /// - Returns: whether the file is such a mark.
    mutating func read(_ file: ImageCacheFolder.File) -> Bool {
        guard file.name.hasSuffix(suffix), let id = ImageID(text: file.name.dropLast(suffix.count)) else {
            return false
        }
        dates[id] = file.modified
        return true
    }

    /// - Parameter folder: `nil` for a mark that holds for this process.
    mutating func insert(_ id: ImageID, now: Date, in folder: ImageCacheFolder?) {
        guard dates[id] == nil else { return }
        dates[id] = now
        // On a full disk, too, it holds for this process.
        if let folder, let temporary = try? folder.write([]) {
            try? folder.place(temporary, as: id.text + suffix)
            folder.touch(id.text + suffix, at: now)
        }
        guard dates.count > Self.maximumCount else { return }
        for (id, _) in dates.sorted(by: { $0.value < $1.value }).prefix(Self.maximumCount / 10) {
            dates[id] = nil
            folder?.remove(id.text + suffix)
        }
    }

    mutating func removeAll() { dates = [:] }
}
