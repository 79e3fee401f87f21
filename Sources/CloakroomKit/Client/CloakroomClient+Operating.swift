import CloakroomWire
public import Foundation

// For tools that look after a worker; apps need none of these.
extension CloakroomClient {
    /// Returns when the worker is alive; one try. Networks that the operator did not name get `forbidden`.
    public func checkHealth() async throws {
        _ = try await httpClient.response(to: WorkerRequest(route: .health, authorization: .none, maximumAttempts: 1))
    }

    /// Whether the worker could do its work now; one try. Networks that the operator did not name get `forbidden`.
    public func isReady() async throws -> Bool {
        do throws(CloakroomError) {
            _ = try await httpClient.response(
                to: WorkerRequest(route: .readiness, authorization: .none, maximumAttempts: 1))
            return true
        } catch {
            guard error.status == 503 else { throw error }
            return false
        }
    }

    /// The worker's metrics, in Prometheus' text format; one try. Networks that the operator did not name get
    /// `forbidden`.
    public func metrics() async throws -> String {
        let response = try await httpClient.response(
            to: WorkerRequest(route: .metrics, authorization: .none, maximumAttempts: 1))
        return String(decoding: response.body, as: UTF8.self)
    }

    /// The keys that session tokens are signed with: a JWK set (RFC 7517 §5), as JSON, for other backends to check them.
    ///
    /// - Throws: ``CloakroomError``: `notFound` where nobody can sign in.
    public func sessionKeys() async throws -> Data {
        try await httpClient.response(to: WorkerRequest(route: .sessionKeys, authorization: .none)).body
    }

    /// Passes on what Apple told a backend of the app's own: a user withdrew consent, or deleted the account.
    ///
    /// - Parameter payload: the JWS, as Apple sent it.
    /// - Throws: ``CloakroomError``: `notFound` where no issuer is Apple, `unavailable` when it could not be
    ///   kept: Apple, too, would send it again.
    public func passOnAppleNotification(payload: String) async throws {
        let asked = AppleNotificationRequest(payload: payload)
        _ = try await httpClient.response(
            to: WorkerRequest(route: .appleNotifications, body: asked.encoded, authorization: .none))
    }
}
