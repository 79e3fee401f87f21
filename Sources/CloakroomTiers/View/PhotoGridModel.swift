public import CloakroomKit
import Foundation

#if canImport(Combine)
    public import Combine
#endif

/// The state of a grid of photos, newest first: pages that are read as the user scrolls.
///
/// It is an `ObservableObject` where there is Combine, since `@Observable` would need iOS 17 and macOS 14; anywhere else,
/// and in UIKit, read ``states(buffering:)``.
@MainActor
public final class PhotoGridModel {
    public struct State: Sendable, Equatable {
        /// Those read so far. Far from the photo that appeared last they are without thumbnails.
        public internal(set) var items: [TimelineItem] = []
        public internal(set) var isLoading = false
        /// There are no older photos.
        public internal(set) var isComplete = false
        /// Why the last call failed; ``PhotoGridModel/refresh()`` is the attempt after it.
        public internal(set) var failure: CloakroomError?
    }

    #if canImport(Combine)
        @Published
    #endif
    public private(set) var state = State() { didSet { feed.send(state) } }

    /// Photos on a page.
    public static let pageSize = 60
    /// The next page is read when so few photos are left.
    static let margin = 20

    private let store: any PhotoStoring
    private let feed = StateFeed<State>()
    private var pages = PhotoPages(size: pageSize)
    private var shownPage = 0
    /// What was begun under an earlier one no longer counts.
    private var generation = 0
    private var isReadingPage = false
    private var filling: Set<Int> = []
    /// Photos whose thumbnail was looked for in the cold tier, as on a device whose catalog was made anew.
    private var soughtThumbnails: Set<PhotoID> = []

    public convenience init(store: TieredPhotoStore) { self.init(storing: store) }

    init(storing store: any PhotoStoring) { self.store = store }

    /// The state now, and each one after it.
    public func states(
        buffering policy: AsyncStream<State>.Continuation.BufferingPolicy = .bufferingNewest(1)
    ) -> AsyncStream<State> {
        feed.states(from: state, buffering: policy)
    }

    /// Reads the first page, or anew as many photos as are shown: when the grid appears, and after photos were added,
    /// removed, or moved by a run. The photos that are shown stay until the new ones are there.
    public func refresh() async {
        generation += 1
        let begun = generation
        isReadingPage = false
        filling = []
        soughtThumbnails = []
        begin()
        var fresh = PhotoPages(size: Self.pageSize)
        let wanted = max(pages.count, 1)
        do {
            while fresh.count < wanted, !fresh.isComplete {
                let items = try await store.thumbnails(before: fresh.end, limit: Self.pageSize)
                guard begun == generation else { return }
                fresh.append(items)
                fresh.dropThumbnails(farFrom: shownPage)
            }
            pages = fresh
            show()
        } catch {
            guard begun == generation else { return }
            show(error)
        }
    }

    /// A photo comes on the screen: reads the next page near the end, thumbnails again where they were dropped, and the
    /// photo's own from the cold tier where this device never had it.
    public func itemAppeared(_ id: PhotoID) async {
        guard let page = pages.page(of: id), let remaining = pages.remaining(after: id) else { return }
        shownPage = page
        await fillGaps(near: page)
        if remaining < Self.margin { await readNextPage() }
        await seekThumbnail(of: id)
    }

    /// A pinned photo stays on the device.
    public func setPinned(_ isPinned: Bool, _ id: PhotoID) async {
        do {
            try await store.pin(id, isPinned)
            pages.update(id) { $0.with(isPinned: isPinned) }
            state.items = pages.items
        } catch {
            state.failure = CloakroomError(of: error)
        }
    }

    private func readNextPage() async {
        guard !isReadingPage, !state.isLoading, !pages.isComplete else { return }
        let begun = generation
        isReadingPage = true
        begin()
        do {
            let items = try await store.thumbnails(before: pages.end, limit: Self.pageSize)
            guard begun == generation else { return }
            isReadingPage = false
            pages.append(items)
            pages.dropThumbnails(farFrom: shownPage)
            show()
        } catch {
            guard begun == generation else { return }
            isReadingPage = false
            show(error)
        }
    }

    private func fillGaps(near page: Int) async {
        let begun = generation
        for gap in pages.gaps(near: page) where !filling.contains(gap.page) {
            filling.insert(gap.page)
            let items = try? await store.thumbnails(before: gap.start, limit: gap.count)
            guard begun == generation else { return }
            filling.remove(gap.page)
            // Without thumbnails it stays a gap: the next photo that appears is the next attempt.
            guard let items else { continue }
            pages.fill(gap, with: items)
            pages.dropThumbnails(farFrom: shownPage)
            state.items = pages.items
        }
    }

    private func seekThumbnail(of id: PhotoID) async {
        guard pages.lacksThumbnail(id), soughtThumbnails.insert(id).inserted else { return }
        let begun = generation
        do {
            guard let bytes = try await store.thumbnail(of: id), begun == generation else { return }
            pages.update(id) { $0.with(thumbnail: bytes) }
            state.items = pages.items
        } catch {
            // Such as of a photo that left the screen at once: when it appears again is the next attempt.
            if begun == generation { soughtThumbnails.remove(id) }
        }
    }

    private func begin() {
        var next = state
        next.isLoading = true
        next.failure = nil
        state = next
    }

    private func show(_ error: (any Error)? = nil) {
        var next = state
        next.isLoading = false
        next.failure = error.map { CloakroomError(of: $0) }
        next.isComplete = pages.isComplete
        next.items = pages.items
        state = next
    }
}

#if canImport(Combine)
    extension PhotoGridModel: ObservableObject {}
#endif
