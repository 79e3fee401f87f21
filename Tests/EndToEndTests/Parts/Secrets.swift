import CloakroomCrypto
import Foundation
import CloakroomJOSE
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

    /// Pieces of every secret: a log that shows but a part of one is found by these.
    private static var pieces: Set<String> {
        let pieces = kept.withLock { secrets in
            secrets.flatMap { secret in
                let bytes = Array(secret.utf8)
                return stride(from: 0, to: max(1, bytes.count - 19), by: 20).map {
                    bytes[$0..<min($0 + 20, bytes.count)]
                }
            }
        }
        return Set(pieces.map { String(decoding: $0, as: UTF8.self) })
    }

    /// - Returns: `file:line` of every place where a secret stands, or 39 characters of one.
    static func found(in files: [String]) throws -> [String] {
        let folder = try RunFolder.make("secrets")
        let patterns = "\(folder)/patterns"
        try pieces.joined(separator: "\n").write(toFile: patterns, atomically: false, encoding: .utf8)
        let arguments = ["-n", "-H", "-F", "-f", patterns, "--"] + files
        let grep = try RunningProgram("/bin/grep", arguments, output: "\(folder)/found")
        guard try grep.waitForEnd(within: .seconds(60)) != 1 else { return [] }
        return grep.text.split(separator: "\n").map { $0.split(separator: ":").prefix(2).joined(separator: ":") }
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
