extension CloakroomClient {
    /// Returns when the worker is alive; one try. Networks that the operator did not name get `forbidden`.
    public func checkHealth() async throws {
        _ = try await exchange.answer(to: WorkerRequest(route: .health, authorization: .none, maximumTries: 1))
    }

    /// Whether the worker could do its work now; one try. Networks that the operator did not name get `forbidden`.
    public func isReady() async throws -> Bool {
        do throws(CloakroomError) {
            _ = try await exchange.answer(to: WorkerRequest(route: .readiness, authorization: .none, maximumTries: 1))
            return true
        } catch {
            guard error.status == 503 else { throw error }
            return false
        }
    }
}
