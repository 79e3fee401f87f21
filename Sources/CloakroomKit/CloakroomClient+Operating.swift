import CloakroomWire
public import Foundation

// For tools that monitor a worker; apps need none of these.
extension CloakroomClient {
    /// Returns when the worker is alive; one attempt. Networks that the operator did not name get `forbidden`.
    public func checkHealth() async throws {
        _ = try await httpClient.response(to: WorkerRequest(route: .health, authorization: .none, maximumAttempts: 1))
    }

    /// Whether the worker is ready; one attempt. Networks that the operator did not name get `forbidden`.
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

    /// The worker's metrics, in Prometheus' text format; one attempt. Networks that the operator did not name get
    /// `forbidden`.
    public func metrics() async throws -> String {
        let response = try await httpClient.response(
            to: WorkerRequest(route: .metrics, authorization: .none, maximumAttempts: 1))
        return String(decoding: response.body, as: UTF8.self)
    }

    /// The keys that session tokens are signed with: a JWK set (RFC 7517 §5), as JSON, for other backends to check them.
    ///
    /// - Throws: ``CloakroomError``: `notFound` where the worker has no sessions.
    public func sessionKeys() async throws -> Data {
        try await httpClient.response(to: WorkerRequest(route: .sessionKeys, authorization: .none)).body
    }

    /// Forwards a notification that Apple sent to the app's own backend: a user withdrew consent, or deleted the account.
    ///
    /// - Parameter payload: the JWS, as Apple sent it.
    /// - Throws: ``CloakroomError``: `notFound` where no issuer is Apple, `unavailable` when it could not be
    ///   kept: Apple, too, would send it again.
    public func passOnAppleNotification(payload: String) async throws {
        let requestBody = AppleNotificationRequest(payload: payload)
        _ = try await httpClient.response(
            to: WorkerRequest(route: .appleNotifications, body: requestBody.encoded, authorization: .none))
    }
}
