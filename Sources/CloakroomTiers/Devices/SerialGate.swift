/// Lets one caller at a time through, in the order in which they came.
///
/// An actor's functions run in between each other wherever one awaits; what must not is behind a gate.
final class SerialGate {
    private var isOpen = true
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func through<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        if isOpen { isOpen = false } else { await withCheckedContinuation { waiting.append($0) } }
        defer { if waiting.isEmpty { isOpen = true } else { waiting.removeFirst().resume() } }
        return try await body()
    }
}
