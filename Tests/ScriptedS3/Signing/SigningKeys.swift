import CloakroomCrypto
import Synchronization

/// Derived keys, one a secret, day and region: deriving takes four HMACs.
///
/// Source: IAM User Guide, "Create a signed AWS API request", step 4.
final class SigningKeys: Sendable {
    private let known = Mutex<[String: HMAC]>([:])

    func key(_ secret: String, day: String, region: String) -> HMAC {
        known.withLock { known in
            let name = "\(secret)/\(day)/\(region)"
            if let key = known[name] { return key }
            var bytes = Array("AWS4\(secret)".utf8)
            for part in [day, region, "s3", "aws4_request"] { bytes = HMAC(key: bytes).authenticate(Array(part.utf8)) }
            let key = HMAC(key: bytes)
            known[name] = key
            return key
        }
    }
}
