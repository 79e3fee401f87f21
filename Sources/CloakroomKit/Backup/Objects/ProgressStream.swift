/// A sequence of progress values, and the observer that feeds it.
///
/// It ends with its last value, or when the observer is released: at the end of a transfer that failed, too. Values not
/// yet read are replaced by newer ones.
/// - Parameter isLast: whether no other value follows.
func progressStream<Value: Sendable>(
    endingWhere isLast: @escaping @Sendable (Value) -> Bool
) -> (values: AsyncStream<Value>, observer: @Sendable (Value) -> Void) {
    let (values, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let finisher = Finisher(continuation)
    return (
        values,
        { value in
            finisher.continuation.yield(value)
            if isLast(value) { finisher.continuation.finish() }
        }
    )
}

/// Ends a sequence when it is released; a continuation that is released leaves its sequence open.
private final class Finisher<Value: Sendable>: Sendable {
    let continuation: AsyncStream<Value>.Continuation

    init(_ continuation: AsyncStream<Value>.Continuation) { self.continuation = continuation }

    deinit { continuation.finish() }
}
