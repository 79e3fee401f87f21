import Testing

@testable import CloakroomServer

@Suite struct RateLimitRequestTests {
    /// Otherwise many accounts on one device would have each search go past all of them.
    @Test func `users of one device are spread over a table`() throws {
        let hashes = try (0..<1000).map { number in
            let user = try #require(UserID("u_\(number)"))
            let subject = Subject(userID: user, deviceID: "one for all", tier: nil, issuer: "https://a.example")
            return RateLimitRequest.Client(.vend, subject).hashValue
        }
        #expect(Set(hashes).count == hashes.count)
    }
}
