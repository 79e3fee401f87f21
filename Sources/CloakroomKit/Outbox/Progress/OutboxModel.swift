#if canImport(Combine)
    public import Combine
#endif

/// The state of an outbox for views.
@MainActor
public final class OutboxModel {
    #if canImport(Combine)
        @Published
    #endif
    public private(set) var state = OutboxState()

    private let outbox: Outbox

    public init(outbox: Outbox) { self.outbox = outbox }

    /// Follows the outbox until the task is cancelled, or the user signs out: for a view's `task`.
    public func follow() async {
        for await state in await outbox.states() { self.state = state }
    }
}

#if canImport(Combine)
    extension OutboxModel: ObservableObject {}
#endif
