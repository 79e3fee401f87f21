import CloakroomCrypto
import Foundation

extension StoredCredentials {
    /// What the bytes say: JSON.
    private struct Record: Codable {
        /// Another layout has another number; a version that does not know it vends new credentials.
        static let version = 1

        let version: Int
        let accessKeyID: String
        let secretAccessKey: String
        let sessionToken: String
        let expiration: Date
        let region: String
        let bucket: String
        // Records of earlier versions have none of these.
        let userID: String?
        let prefixes: [String: String]?
        let shared: [VendedCredentials.SharedFolder]?
        let received: Date
        let serverTime: ServerTime
    }

    /// Several times what AWS's longest session tokens need.
    static let maximumByteCount = 64 << 10

    init(_ held: HeldCredentials) throws {
        let vended = held.vended
        self.init(
            bytes: try JSONEncoder().encode(
                Record(
                    version: Record.version, accessKeyID: vended.accessKeyID,
                    secretAccessKey: vended.revealSecretAccessKey(), sessionToken: vended.revealSessionToken(),
                    expiration: vended.expiration, region: vended.region, bucket: vended.bucket,
                    userID: vended.userID, prefixes: vended.prefixes, shared: vended.shared,
                    received: held.received, serverTime: held.serverTime)))
    }

    /// - Returns: `nil` for another version's record, for credentials that have expired or are about to, and when the
    ///   time is unknown.
    func resumed(at reading: ClockReading) -> HeldCredentials? {
        guard bytes.count <= Self.maximumByteCount, let record = try? JSONDecoder().decode(Record.self, from: bytes),
            record.version == Record.version, let serverTime = record.serverTime.resumed(at: reading)
        else { return nil }
        let vended = VendedCredentials(
            accessKeyID: record.accessKeyID, secretAccessKey: Secret(record.secretAccessKey),
            sessionToken: Secret(record.sessionToken), expiration: record.expiration, region: record.region,
            bucket: record.bucket, userID: record.userID, prefixes: record.prefixes, shared: record.shared ?? [])
        guard let vended = try? vended.checked() else { return nil }
        let held = HeldCredentials(vended, received: record.received, serverTime: serverTime)
        switch held.freshness(at: reading) {
        case .fresh, .due: return held
        case .urgent, .ended: return nil
        }
    }
}
