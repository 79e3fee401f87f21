import CloakroomWire
import Foundation

extension CloakroomClient {
    /// Signs in; the token provider is not called.
    ///
    /// - Parameters:
    ///   - identityToken: a JWT of Sign in with Apple, or of another issuer of the worker's settings.
    ///   - nonce: as the app made it; the issuer was given its SHA-256 in hexadecimal digits.
    ///   - deviceID: names the device for the operator, 1 to 255 bytes.
    /// - Throws: ``CloakroomError``: `unauthorized` for a token that the worker rejects, `sessionRevoked` for one from
    ///   before a revocation, with `retryAfter` where one made then would be accepted, `notFound` where the worker has no sessions.
    public func signIn(
        identityToken: String, nonce: String? = nil, deviceID: String? = nil
    ) async throws -> Session {
        let requestBody = SessionRequest(identityToken: identityToken, nonce: nonce, deviceId: deviceID)
        return try await session(WorkerRequest(route: .session, body: requestBody.encoded, authorization: .none))
    }

    /// A later session for one that has not ended yet.
    ///
    /// - Throws: ``CloakroomError``: `unauthorized` when it has ended, or the sign-in was too long ago, `sessionRevoked` when the
    ///   operator ended it: sign in again.
    public func continueSession(_ session: Session, deviceID: String? = nil) async throws -> Session {
        let requestBody = SessionRequest(deviceId: deviceID)
        return try await self.session(
            WorkerRequest(
                route: .session, body: deviceID == nil ? nil : requestBody.encoded,
                authorization: .session(session.token)))
    }

    private func session(_ request: WorkerRequest) async throws(CloakroomError) -> Session {
        let body: SessionBody = try await body(of: request)
        return Session(token: body.token, expiration: body.expiresAt, userID: body.userId)
    }
}
