import CloakroomCrypto
import Foundation
import JOSE
import Synchronization

/// Every secret of the run, so that its logs can be searched for them at the end.
enum Secrets {
    private static let kept = Mutex<Set<String>>([])

    /// 64 hexadecimal digits.
    static func random() -> String { randomBytes(32).hexadecimal }

    @discardableResult
    static func keep(_ secret: String) -> String {
        if secret.utf8.count >= 8 { _ = kept.withLock { $0.insert(secret) } }
        return secret
    }

    static var all: [String] { kept.withLock { $0.sorted() } }

    /// - Returns: the file and the beginning of each secret that stands in it.
    static func found(in files: [String]) -> [String] {
        files.flatMap { file in
            let text = RunFolder.text(of: file)
            return all.filter { text.contains($0) }.map { "\(file): \($0.prefix(6))…" }
        }
    }
}

/// Tokens as the issuer of the tests' settings makes them.
enum Tokens {
    static let issuer = "https://auth.localhost"
    static let secret = Secrets.keep(Secrets.random())
    private static let counter = Counter()

    /// A user and a device that nobody else in this run is.
    static func fresh(tier: String? = "free") -> String {
        let number = counter.next()
        return token(user: "u_\(number)", device: "device-\(number)-\(getpid())", tier: tier)
    }

    static func token(user: String, device: String? = nil, tier: String? = nil, lifetime: Duration = .seconds(3600))
        -> String
    {
        guard let key = HMACKey(Array(secret.utf8)) else { preconditionFailure("the secret is long enough") }
        return Secrets.keep(
            TokenSigner(issuer: issuer, audience: "cloakroom", key: key)
                .token(subject: user, deviceID: device, tier: tier, now: Date(), lifetime: lifetime))
    }
}
