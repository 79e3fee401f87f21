import CloakroomKit
import CloakroomMessages
import Foundation

/// A vault in memory that fails as it is told.
actor ScriptedVault: KeyVault {
    enum Call: Sendable, CaseIterable { case load, store, erase }

    enum Failure: Sendable {
        /// Nothing was done.
        case before(CloakroomError)
        /// It was done, and an error is thrown all the same.
        case after(CloakroomError)
    }

    private(set) var value: Data?
    private(set) var calls: [Call] = []
    private var failures: [Int: Failure] = [:]
    private var gate: AsyncStream<Void>?

    init(_ value: Data? = nil) { self.value = value }

    /// - Parameter number: of the call, counted over all of them from 0.
    func fail(_ failure: Failure, at number: Int) { failures[number] = failure }

    func failNext(_ failure: Failure) { failures[calls.count] = failure }

    func put(_ value: Data?) { self.value = value }

    /// The next value is stored when the stream has an element.
    func holdNextStore(until gate: AsyncStream<Void>) { self.gate = gate }

    func load() async throws -> Data? {
        try begin(.load)
        let value = value
        try end()
        return value
    }

    func store(_ value: Data) async throws {
        try begin(.store)
        if let gate {
            self.gate = nil
            for await _ in gate { break }
        }
        self.value = value
        try end()
    }

    func erase() async throws {
        try begin(.erase)
        value = nil
        try end()
    }

    private func begin(_ call: Call) throws {
        calls.append(call)
        if case .before(let error) = failures[calls.count - 1] { throw error }
    }

    private func end() throws {
        if case .after(let error) = failures[calls.count - 1] { throw error }
    }
}
