/// At most so many at once; first come, first served.
actor TransferLimit {
    private var free: Int
    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    nonisolated func holding<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        await enter()
        do {
            let value = try await body()
            await leave()
            return value
        } catch {
            await leave()
            throw error
        }
    }

    private func enter() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiters.append($0) }
    }

    private func leave() {
        guard waiters.isEmpty else { return waiters.removeFirst().resume() }
        free += 1
    }
}
