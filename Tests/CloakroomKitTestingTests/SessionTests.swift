import CloakroomKit
import CloakroomKitTesting
import Foundation
import Testing

/// Sign-in, and what ends it.
@Suite struct SessionTests {
    private let server = TestServer()

    @Test func `a session that is about to end is continued once for 1000 callers`() async throws {
        let tokens = server.sessionTokens()
        #expect(try await tokens.signIn(with: server.identity(forUser: "u_1")) == "u_1")
        server.advance(by: .seconds(86_400 - 60))
        let used = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1000 { group.addTask { try await tokens.token() } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(used.count == 1)
        #expect(server.count(.continueSession) == 1 && server.count(.signIn) == 1)
    }

    @Test func `a session that ended in a batch is replaced, and the batch goes on`() async throws {
        let tokens = server.sessionTokens { [server] _ in server.identity(forUser: "u_1") }
        try await tokens.signIn(with: server.identity(forUser: "u_1"))
        server.advance(by: .seconds(86_401))
        let app = try TestApp()
        let cloakroom = try Cloakroom(
            configuration: server.configuration(folder: app.folder.appendingPathComponent("state")), user: "u_1",
            tokens: tokens)
        let report = await cloakroom.backup.backUp(try app.photos(2))
        #expect(report.failures == [])
        #expect(server.count(.signIn) == 2)
    }

    @Test func `a revoked session needs a sign-in, and nothing else is sent`() async throws {
        let tokens = server.sessionTokens()
        try await tokens.signIn(with: server.identity(forUser: "u_1"))
        let app = try TestApp()
        let cloakroom = try Cloakroom(
            configuration: server.configuration(folder: app.folder.appendingPathComponent("state")), user: "u_1",
            tokens: tokens)
        server.fail(.vendCredentials, with: .sessionRevoked)
        #expect(await code { _ = try await cloakroom.credentials.credentials() } == .sessionRevoked)
        #expect(await code { _ = try await cloakroom.credentials.credentials() } == .sessionRevoked)
        #expect(server.count(.vendCredentials) == 1)
    }

    @Test func `a token that ended is replaced once, and the batch goes on`() async throws {
        let app = try TestApp()
        let client = try app.cloakroom().client
        app.server.fail(.renewAssets, nth: 2, with: .tokenEnded)
        for _ in 0..<4 { _ = try await client.renewAssets(keys: ["a.bin"]) }
        #expect(app.server.requests(.renewAssets).map(\.status) == [200, 401, 200, 200, 200])
    }

    @Test func `what a user has added is not sent with the session of the next`() async throws {
        let tokens = server.sessionTokens()
        try await tokens.signIn(with: server.identity(forUser: "u_1"))
        let app = try TestApp()
        let cloakroom = try Cloakroom(
            configuration: server.configuration(folder: app.folder.appendingPathComponent("state")), user: "u_1",
            tokens: tokens)
        let outbox = try cloakroom.outbox()
        try await outbox.add(asset: UploadContent(Data("a".utf8), contentType: "image/jpeg"), reference: "a")
        // The app has not signed the first user out of their parts.
        try await tokens.signIn(with: server.identity(forUser: "u_2"))
        let report = await outbox.run()
        #expect(report.stoppedBy?.code == .storeOwnerMismatch && report.failed == 0 && report.unsent.items == 1)
        #expect(server.count(.requestUpload) == 0)
        #expect(await code { _ = try await cloakroom.client.renewAssets(keys: ["a.bin"]) } == .storeOwnerMismatch)
        try await tokens.signIn(with: server.identity(forUser: "u_1"))
        let item = try #require(try await outbox.items().first)
        try await outbox.retry(item.id)
        #expect(await outbox.run().sent == 1)
    }

    @Test func `an identity is good for one sign-in`() async throws {
        let identity = server.identity(forUser: "u_1")
        try await server.sessionTokens().signIn(with: identity)
        let tokens = server.sessionTokens()
        #expect(await code { try await tokens.signIn(with: identity) } == .unauthorized)
    }
}
