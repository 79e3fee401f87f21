import CloakroomKitTestSupport

@testable import CloakroomKit

/// A store that keeps its record in memory, and writes down what it was asked to do.
actor MemoryStore: CredentialStore {
    private(set) var record: StoredCredentials?
    private(set) var calls: [String] = []
    private let error: (any Error)?
    private let gate: Gate
    private var failingClears = 0

    /// - Parameters:
    ///   - error: fails each call.
    ///   - gate: each call waits there.
    init(_ record: StoredCredentials? = nil, error: (any Error)? = nil, gate: Gate = Gate(isOpen: true)) {
        self.record = record
        self.error = error
        self.gate = gate
    }

    func load() async throws -> StoredCredentials? {
        try await called("load")
        return record
    }

    func save(_ credentials: StoredCredentials) async throws {
        try await called("save")
        record = credentials
    }

    func failClears(_ count: Int) { failingClears = count }

    func clear() async throws {
        try await called("clear")
        if failingClears > 0 {
            failingClears -= 1
            throw CloakroomError(.storeFailed, "as told")
        }
        record = nil
    }

    private func called(_ call: String) async throws {
        calls.append(call)
        _ = await gate.pass()
        if let error { throw error }
    }
}
