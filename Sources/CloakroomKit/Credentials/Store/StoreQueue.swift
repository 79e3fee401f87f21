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

    /// - Returns: what ends when everything is gone.
    mutating func clear() -> Task<Void, Never>? {
        append { try await $0.clear() }
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
