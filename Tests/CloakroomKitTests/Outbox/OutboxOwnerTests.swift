import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// An app's only session, which is one user's after another.
private actor AppSession: TokenProvider {
    private var user: String

    init(_ user: String) { self.user = user }

    func signIn(_ user: String) { self.user = user }

    func token() -> String { "token-of-\(user)" }

    func token(ofUser userID: String) throws -> String {
        guard userID == user else { throw CloakroomError(.storeOwnerMismatch, "another user is signed in") }
        return token()
    }
}

/// Parts that an app makes itself.
@Suite struct OutboxOwnerTests {
    @Test func `an outbox sends no request for its owner's asset with another user's token`() async throws {
        let bench = try OutboxFixture()
        let http = ScriptedHTTP { _, _ in .response(403) }
        let session = AppSession(StoreOwner.test.user)
        let client = CloakroomClient(
            endpoint: try #require(URL(string: "https://api.example")), tokens: session, transport: http)
        let outbox = try Outbox(
            folder: bench.root, owner: .test, photos: nil, assets: client,
            carrier: TransportCarrier(transport: http), runtime: bench.fake.runtime)
        try await outbox.add(asset: UploadContent("a picture"), reference: "a")
        await session.signIn("u_2")
        let report = await outbox.run()
        #expect(report.stoppedBy?.code == .storeOwnerMismatch && report.failed == 0)
        #expect(await http.sent.isEmpty)
        await session.signIn(StoreOwner.test.user)
        bench.fake.pass(.seconds(3600))
        await outbox.run()
        #expect(await http.sent.map { $0["Authorization"] } == ["Bearer token-of-\(StoreOwner.test.user)"])
    }
}
