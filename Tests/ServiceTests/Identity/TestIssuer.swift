import CloakroomAWS
import CloakroomCrypto
import CloakroomSignatures
import Foundation
import CloakroomHTTP
import CloakroomJOSE
import CloakroomJSON
import CloakroomTestSupport
import Synchronization

@testable import CloakroomServer

/// An issuer out in the world: signs with keys of its own, and publishes what a test lets it publish.
struct TestIssuer {
    static let name = "https://id.example"
    static let keysURL = "https://id.example/keys"

    let signingKey: TokenSigningKey

    /// - Parameter number: 0 or 1, for two P-256 keys.
    init(_ number: Int, keyID: String? = nil) throws {
        signingKey = try TokenSigningKey(
            PrivateKey(pem: Array(Self.pem[number].utf8)), keyID: keyID ?? "key-\(number)")
    }

    static let pem = [TestKeys.p256, TestKeys.otherP256]

    var jwk: JSON { signingKey.jwk ?? .null }

    static func keySet(_ issuers: [TestIssuer]) -> String { keySet(issuers.map(\.jwk)) }
    static func keySet(_ keys: [JSON]) -> String { (["keys": .array(keys)] as JSON).text }

    /// A token with these claims and no others.
    func token(_ claims: JSON) -> String {
        TokenSigner(issuer: Self.name, audience: "app", key: signingKey).sign(Array(claims.text.utf8))
    }

    /// An identity token of an hour from `now`.
    func token(_ subject: String = "001.a", now: Date, _ more: [String: JSON] = [:], without: [String] = []) -> String {
        let issue = now.timeIntervalSince1970
        var claims: [String: JSON] = [
            "iss": .string(Self.name), "aud": .string("app"), "sub": .string(subject), "iat": .number(issue),
            "exp": .number(issue + 3600),
        ]
        claims.merge(more) { $1 }
        let members = claims.filter { !without.contains($0.key) }.sorted { $0.key < $1.key }
        return token(.object(JSON.Object(members: members.map { .init(name: $0.key, value: $0.value) })))
    }
}

/// A monotonic clock a test sets, and what the background wanted to sleep.
final class TestTime: Sendable {
    private let passed = Mutex(Duration.zero)
    private let start = ContinuousClock.now
    let clock: TestClock

    init(clock: TestClock = TestClock()) { self.clock = clock }

    func pass(_ duration: Duration) {
        passed.withLock { $0 += duration }
        clock.pass(duration / .seconds(1))
    }

    var runtime: RuntimeDependencies {
        RuntimeDependencies(
            wallClock: { self.clock.now }, now: { self.start + self.passed.withLock { $0 } },
            sleep: { _ in throw CancellationError() }, randomNumber: { 0 })
    }
}
