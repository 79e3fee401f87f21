import CloakroomAWS
import Foundation
import Testing

@testable import CloakroomKit

/// Tokens `t1`, `t2`, …; which were refused is written down.
actor CountingTokens: TokenProvider {
    private(set) var calls = 0
    private(set) var refused: [String] = []
    private(set) var revoked: [String] = []
    private let isStubborn: Bool

    /// - Parameter isStubborn: gives the same token again and again.
    init(isStubborn: Bool = false) { self.isStubborn = isStubborn }

    func token(ofUser userID: String) -> String { token() }

    func token() -> String {
        calls += 1
        return isStubborn ? "t1" : "t\(refused.count + 1)"
    }

    func tokenRefused(_ token: String) { refused.append(token) }

    func sessionRevoked(_ token: String) { revoked.append(token) }
}

extension CloakroomClient {
    /// One whose network is a script, and whose time is the test's.
    static func test(
        _ http: ScriptedHTTP, _ fake: FakeRuntime = FakeRuntime(), endpoint: String = "https://api.example",
        header: TokenHeader = .bearer, tokens: any TokenProvider = CountingTokens(),
        retryPolicy: RetryPolicy = RetryPolicy()
    ) throws -> CloakroomClient {
        CloakroomClient(
            endpoint: try #require(URL(string: endpoint)), tokenHeader: header, tokens: tokens, transport: http,
            retryPolicy: retryPolicy, runtime: fake.runtime)
    }
}
