import CloakroomAWS

/// The store's operations: one at a time, in order, so that nothing is saved after a clear.
struct StoreQueue: Sendable {
    private let store: (any CredentialStore)?
    private let onFailure: @Sendable (CloakroomError) -> Void
    private let runtime: RuntimeDependencies
    private var last: Task<Void, Never>?

    init(
        _ store: (any CredentialStore)?, onFailure: @escaping @Sendable (CloakroomError) -> Void,
        runtime: RuntimeDependencies
    ) {
        self.store = store
        self.onFailure = onFailure
        self.runtime = runtime
    }

    /// - Returns: `nil` when there is nothing, or when the store fails.
    func load() async -> StoredCredentials? {
        do {
            return try await store?.load()
        } catch {
            onFailure(Self.converted(error))
            return nil
        }
    }

    mutating func save(_ held: HeldCredentials) {
        save { try StoredCredentials(held) }
    }

    mutating func save(_ record: @escaping @Sendable () throws -> StoredCredentials) {
        append { try await $0.save(record()) }
    }

    /// - Returns: what ends when everything is gone, with what kept it from that.
    mutating func clear() -> Removal? {
        let failure = Locked<CloakroomError?>(nil)
        let task = append { store in
            do { try await store.clear() } catch {
                failure.withLock { $0 = Self.converted(error) }
                throw error
            }
        }
        return task.map { Removal(task: $0, failure: failure) }
    }

    /// A removal that was begun.
    struct Removal: Sendable {
        fileprivate let task: Task<Void, Never>
        fileprivate let failure: Locked<CloakroomError?>

        /// - Returns: `nil` when everything is gone.
        @discardableResult func end() async -> CloakroomError? {
            await task.value
            return failure.withLock { $0 }
        }
    }

    /// Waits for all operations so far.
    func idle() async { await last?.value }

    @discardableResult private mutating func append(
        _ work: @escaping @Sendable (any CredentialStore) async throws -> Void
    ) -> Task<Void, Never>? {
        guard let store else { return nil }
        last = runtime.spawn { [last, onFailure] in
            await last?.value
            do { try await work(store) } catch { onFailure(Self.converted(error)) }
        }
        return last
    }

    private static func converted(_ error: any Error) -> CloakroomError {
        error as? CloakroomError
            ?? CloakroomError(.storeFailed, "The store of the credentials failed with a \(type(of: error)).")
    }
}
