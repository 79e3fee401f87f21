public import CloakroomKit
public import Foundation

#if canImport(Combine)
    public import Combine
#endif

/// The state of one photo on the screen: its thumbnail at once, the progress of its download, the photo, or why not.
///
/// The photo stays on the device until ``dismiss()``, or until this object is gone.
@MainActor
public final class PhotoViewerModel {
    public struct State: Sendable {
        public enum Phase: Sendable {
            /// Not opened yet, or dismissed.
            case closed
            /// From 0 to 1; `nil` while nothing is known of it.
            case loading(fraction: Double?)
            case shown(PhotoFile)
            case failed(CloakroomError)
        }

        /// JPEG; `nil`: show a placeholder.
        public internal(set) var thumbnail: Data?
        public internal(set) var phase = Phase.closed
        public internal(set) var isPinned: Bool
        /// Why the last call of ``PhotoViewerModel/setPinned(_:)`` failed.
        public internal(set) var pinFailure: CloakroomError?
        /// What arrived before a failure: the download was under way.
        public internal(set) var fraction: Double?

        /// Whether a tap is another attempt that can succeed.
        public var canRetry: Bool {
            if case .failed(let error) = phase { error.isRetryable } else { false }
        }

        /// Below the thumbnail: that it is loading, or why there is only the thumbnail; `nil` when there is nothing to say.
        public func message(in language: TierLanguage) -> String? {
            switch phase {
            case .closed, .shown: return nil
            case .loading: return language.text(.loading)
            case .failed(let error):
                // A download goes on after its time is up, and the next attempt finds what it fetched.
                let isSlow = error.code == .timedOut && fraction ?? 0 > 0
                let failure = isSlow ? language.text(.failureSlow) : language.failure(error)
                return error.isRetryable ? language.text(.tapToRetry, failure) : failure
            }
        }
    }

    #if canImport(Combine)
        @Published
    #endif
    public private(set) var state: State { didSet { feed.send(state) } }

    public let photo: PhotoID
    private let store: any PhotoStoring
    private let timeout: Duration
    private let feed = StateFeed<State>()
    private var attempt: Task<Void, Never>?
    /// What comes of an earlier attempt no longer counts.
    private var generation = 0

    /// - Parameters:
    ///   - item: of the grid, whose thumbnail is shown until the photo is there.
    ///   - timeout: of an attempt; the download itself goes on, and the next attempt finds it.
    public convenience init(store: TieredPhotoStore, item: TimelineItem, timeout: Duration = .seconds(10)) {
        self.init(storing: store, item: item, timeout: timeout)
    }

    init(storing store: any PhotoStoring, item: TimelineItem, timeout: Duration = .seconds(10)) {
        self.store = store
        self.timeout = timeout
        photo = item.id
        state = State(thumbnail: item.thumbnail, isPinned: item.isPinned)
    }

    deinit { attempt?.cancel() }

    /// The state now, and each one after it.
    public func states(
        buffering policy: AsyncStream<State>.Continuation.BufferingPolicy = .bufferingNewest(1)
    ) -> AsyncStream<State> {
        feed.states(from: state, buffering: policy)
    }

    /// Shows the photo; it returns when that is done, or has failed. A call while it is under way waits for the same.
    public func open() async {
        switch state.phase {
        case .shown: return
        case .loading:
            if let attempt, !attempt.isCancelled { return await attempt.value }
            await begin()
        case .closed, .failed: await begin()
        }
    }

    /// Another attempt, where one can succeed.
    public func retry() async {
        if state.canRetry { await begin() }
    }

    /// Ends what is under way, and lets the photo leave the device again.
    public func dismiss() {
        generation += 1
        attempt?.cancel()
        attempt = nil
        if case .shown(let file) = state.phase { file.close() }
        state.fraction = nil
        state.phase = .closed
    }

    /// A pinned photo stays on the device.
    public func setPinned(_ isPinned: Bool) async {
        var failure: CloakroomError?
        do { try await store.pin(photo, isPinned) } catch { failure = CloakroomError(of: error) }
        var next = state
        if failure == nil { next.isPinned = isPinned }
        next.pinFailure = failure
        state = next
    }

    private func begin() async {
        generation += 1
        let begun = generation
        attempt?.cancel()
        var next = state
        next.fraction = nil
        next.phase = .loading(fraction: nil)
        state = next
        let steps = store.load(photo, within: timeout)
        let attempt = Task { [weak self] in
            for await step in steps {
                guard let self, begun == self.generation else {
                    if case .file(let file) = step { file.close() }
                    return
                }
                self.show(step)
            }
            self?.end(begun)
        }
        self.attempt = attempt
        await withTaskCancellationHandler {
            await attempt.value
        } onCancel: {
            attempt.cancel()
        }
    }

    private func show(_ step: PhotoLoad) {
        var next = state
        switch step {
        case .thumbnail(let bytes): next.thumbnail = bytes
        case .progress(let fraction):
            next.fraction = fraction
            next.phase = .loading(fraction: fraction)
        case .file(let file): next.phase = .shown(file)
        case .failed(let error): next.phase = .failed(error)
        }
        state = next
    }

    /// The steps are over: without a last one, when the caller's task was cancelled.
    private func end(_ begun: Int) {
        guard begun == generation, case .loading = state.phase else { return }
        state.phase = .failed(CloakroomError(.cancelled, "the photo was not waited for"))
    }
}

#if canImport(Combine)
    extension PhotoViewerModel: ObservableObject {}
#endif
