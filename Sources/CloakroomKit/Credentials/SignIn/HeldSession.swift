import CloakroomCrypto
public import Foundation

/// A session, and how much of its lifetime has passed by the server's clock.
struct HeldSession: Sendable {
    let session: Session
    /// In the server's time.
    let received: Date
    let serverTime: ServerTime
    /// Apple's name of the user; `nil` for one who did not sign in with Apple.
    var appleUser: String?

    /// As for credentials: due from half of the lifetime on, urgent in the last five minutes.
    func freshness(at reading: ClockReading) -> HeldCredentials.Freshness {
        let lifetime = max(0, session.expiration.timeIntervalSince(received))
        if serverTime.time(at: reading) >= session.expiration { return .ended }
        let left = session.expiration.timeIntervalSince(serverTime.latestTime(at: reading))
        if left <= min(HeldCredentials.longestMargin, lifetime / 2) { return .urgent }
        return left <= lifetime / 2 ? .due : .fresh
    }
}

extension HeldSession {
    /// What the bytes in the store say: JSON.
    private struct Record: Codable {
        static let version = 1

        let sessionVersion: Int
        let token: String
        let userID: String
        let expiration: Date
        let received: Date
        let serverTime: ServerTime
        /// Not in records of earlier versions of the kit.
        let appleUser: String?
    }

    /// For a store of ``StoreOwner/session(at:)``.
    func stored() throws -> StoredCredentials {
        StoredCredentials(
            bytes: try JSONEncoder().encode(
                Record(
                    sessionVersion: Record.version, token: session.token.reveal(), userID: session.userID,
                    expiration: session.expiration, received: received, serverTime: serverTime,
                    appleUser: appleUser)))
    }

    /// - Returns: `nil` for what is no session. One that has ended still says whose it was.
    init?(_ stored: StoredCredentials, at reading: ClockReading) {
        guard stored.bytes.count <= StoredCredentials.maximumByteCount,
            let record = try? JSONDecoder().decode(Record.self, from: stored.bytes),
            record.sessionVersion == Record.version
        else { return nil }
        // A clock that was set back leaves the time unknown: then the worker says whether the session has ended.
        self.init(
            session: Session(token: record.token, expiration: record.expiration, userID: record.userID),
            received: record.received,
            serverTime: record.serverTime.resumed(at: reading) ?? ServerTime(record.received, at: reading),
            appleUser: record.appleUser)
    }
}

extension StoreOwner {
    /// Of the store of a ``SessionTokenProvider``: one session at an endpoint, whoever signed in. No user has its name.
    public static func session(at endpoint: URL) -> StoreOwner { StoreOwner(user: "(session)", endpoint: endpoint) }
}
