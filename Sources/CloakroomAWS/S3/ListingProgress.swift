/// Notices a listing that does not come to an end: its pages repeat, or are empty again and again.
///
/// It does not go by the order of keys: directory buckets of S3 have none, and SeaweedFS lists folder by folder. But each
/// key comes once, and so does each token. One page is remembered and held against those that follow, another one after
/// twice as many pages (Brent's algorithm): pages that go in circles, however many, are noticed by the third time round.
/// A store that invents new keys for ever is a large bucket to any client.
package struct ListingProgress: Sendable {
    /// S3 gives empty pages where it has to pass over much that was deleted.
    private static let maximumEmptyPages = 10_000

    private var pages = 0
    private var emptyPages = 0
    private var nextMark = 1
    private var marked: Page?
    private var last: String?

    private struct Page {
        /// What leads to the page behind it.
        let next: String
        /// `nil` where there is none that comes once for sure.
        let first: String?
    }

    package init() {}

    /// - Parameter page: each page of one listing, in turn.
    /// - Returns: whether the next page may be requested.
    package mutating func advances(_ page: ObjectPage) -> Bool {
        // A folder may come again, where a page ends within it.
        let isOfFolders = page.entries.isEmpty && page.folders.count > 1
        let names = isOfFolders ? [page.folders.joined(separator: "\n")] : page.entries.map(\.key)
        return advances(names, isEmpty: page.entries.isEmpty && page.folders.isEmpty, next: page.continuation)
    }

    /// - Parameter page: each page of one listing, in turn.
    /// - Returns: whether the next page may be requested.
    package mutating func advances(_ page: VersionPage) -> Bool {
        let names = page.entries.filter { !$0.version.isEmpty }.map { "\($0.key)\n\($0.version)" }
        return advances(names, isEmpty: page.entries.isEmpty, next: page.next.map { "\($0.key)\n\($0.version)" })
    }

    /// - Parameter names: of what a page lists, each of which comes once.
    mutating func advances(_ names: [String], isEmpty: Bool, next: String?) -> Bool {
        guard let next else { return true }
        emptyPages = isEmpty ? emptyPages + 1 : 0
        guard emptyPages <= Self.maximumEmptyPages, !Self.isSame(next, last) else { return false }
        last = next
        if let marked, Self.isSame(next, marked.next) || names.contains(where: { Self.isSame($0, marked.first) }) {
            return false
        }
        pages += 1
        if pages == nextMark {
            marked = Page(next: next, first: names.first)
            nextMark *= 2
        }
        return true
    }

    /// Byte by byte: beyond ASCII, strings that are equal to Swift may be two keys.
    private static func isSame(_ text: String, _ other: String?) -> Bool {
        other.map { text.utf8.elementsEqual($0.utf8) } ?? false
    }
}
