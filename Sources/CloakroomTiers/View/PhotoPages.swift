import Foundation

/// The pages of a timeline that were read so far; thumbnails only around the one that is shown.
///
/// A year of photos has more thumbnails than fit into an app's memory.
struct PhotoPages: Sendable {
    private struct Page {
        /// Where it begins; `nil`: at the newest photo.
        var start: TimelineCursor?
        var items: [TimelineItem]
        var hasThumbnails: Bool
    }

    /// A page whose thumbnails were dropped.
    struct Gap: Sendable, Equatable {
        var page: Int
        var start: TimelineCursor?
        var count: Int
    }

    let size: Int
    /// Thumbnails are kept of so many pages before and after the one that is shown.
    static let reach = 5

    private var pages: [Page] = []
    private var places: [PhotoID: (page: Int, index: Int)] = [:]
    /// There are no older photos.
    private(set) var isComplete = false

    init(size: Int) { self.size = size }

    var count: Int { places.count }
    var items: [TimelineItem] { pages.flatMap(\.items) }
    /// Where the next page begins.
    var end: TimelineCursor? { pages.last?.items.last?.cursor }

    /// - Parameter items: what is after ``end``; fewer than ``size`` are the last ones.
    mutating func append(_ items: [TimelineItem]) {
        isComplete = items.count < size
        // A photo that got another date meanwhile is shown once.
        let new = items.filter { places[$0.id] == nil }
        guard !new.isEmpty else { return }
        for (index, item) in new.enumerated() { places[item.id] = (pages.count, index) }
        pages.append(Page(start: end, items: new, hasThumbnails: true))
    }

    func page(of id: PhotoID) -> Int? { places[id]?.page }

    /// How many photos after this one were read; `nil` when it is none of these.
    func remaining(after id: PhotoID) -> Int? {
        guard let place = places[id] else { return nil }
        return pages[place.page...].reduce(0) { $0 + $1.items.count } - place.index - 1
    }

    /// Forgets the thumbnails of all pages that are far from one.
    mutating func dropThumbnails(farFrom shown: Int) {
        for index in pages.indices where abs(index - shown) > Self.reach && pages[index].hasThumbnails {
            pages[index].items = pages[index].items.map { $0.with(thumbnail: nil) }
            pages[index].hasThumbnails = false
        }
    }

    /// The page itself, and the ones beside it, as far as their thumbnails were dropped.
    func gaps(near shown: Int) -> [Gap] {
        [shown, shown + 1, shown - 1].filter { pages.indices.contains($0) && !pages[$0].hasThumbnails }.map {
            Gap(page: $0, start: pages[$0].start, count: pages[$0].items.count)
        }
    }

    mutating func fill(_ gap: Gap, with items: [TimelineItem]) {
        let thumbnails = Dictionary(items.map { ($0.id, $0.thumbnail) }) { first, _ in first }
        pages[gap.page].items = pages[gap.page].items.map { $0.with(thumbnail: thumbnails[$0.id] ?? nil) }
        pages[gap.page].hasThumbnails = true
    }

    /// Whether a photo is without a thumbnail although its page has them.
    func lacksThumbnail(_ id: PhotoID) -> Bool {
        guard let place = places[id], pages[place.page].hasThumbnails else { return false }
        return pages[place.page].items[place.index].thumbnail == nil
    }

    mutating func update(_ id: PhotoID, _ change: (TimelineItem) -> TimelineItem) {
        guard let place = places[id] else { return }
        pages[place.page].items[place.index] = change(pages[place.page].items[place.index])
    }
}
