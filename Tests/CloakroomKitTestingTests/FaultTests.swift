import CloakroomKit
import CloakroomKitTesting
import Foundation
import Testing

/// Each fault, as the kit meets it.
@Suite struct FaultTests {
    private let app: TestApp
    private let server: TestServer
    private let cloakroom: Cloakroom

    init() throws {
        app = try TestApp()
        server = app.server
        cloakroom = try app.cloakroom()
    }

    private func renewal() async -> CloakroomError? {
        do {
            _ = try await cloakroom.client.renewAssets(keys: ["a.bin"])
            return nil
        } catch {
            return error as? CloakroomError
        }
    }

    @Test func `a response of the worker's`() async {
        server.fail(.renewAssets, with: .response(status: 403, code: "user_disabled"))
        #expect(await renewal()?.code == .userDisabled)
        #expect(await renewal() == nil)
    }

    @Test func `a response of S3's`() async throws {
        server.fail(.putObject, with: .response(status: 500, code: "InternalError"))
        let report = await cloakroom.backup.backUp(try app.photos(1))
        #expect(report.failures == [])
        #expect(server.requests(.putObject).map(\.status) == [500, 200])
    }

    @Test func `a rate limit is waited for, without waiting`() async {
        let start = server.date
        server.fail(.renewAssets, with: .rateLimit(retryAfter: .seconds(20)))
        #expect(await renewal() == nil)
        #expect(server.requests(.renewAssets).map(\.status) == [429, 200])
        #expect(server.date.timeIntervalSince(start) >= 20)
    }

    @Test func `a rate limit that is too long comes as an error`() async {
        server.fail(.renewAssets, times: .max, with: .rateLimit(retryAfter: .seconds(3000)))
        let error = await renewal()
        #expect(error?.code == .tooManyRequests && error?.retryAfter == .seconds(3000))
        #expect(server.faultsToCome > 0)
    }

    @Test func `no network`() async {
        server.fail(.renewAssets, times: .max, with: .transport(.unreachable))
        #expect(await renewal()?.code == .unreachable)
        server.clearFaults()
        #expect(await renewal() == nil)
    }

    @Test func `a delay, and one that is too long`() async {
        let start = server.date
        server.fail(.renewAssets, with: .delay(.seconds(4)))
        #expect(await renewal() == nil)
        #expect(server.date.timeIntervalSince(start) == 4)
        server.fail(.renewAssets, with: .delay(.seconds(3600)))
        #expect(await renewal() == nil)
        #expect(server.requests(.renewAssets).map(\.status) == [200, nil, 200])
    }

    @Test func `only the nth request about these keys fails`() async throws {
        let objects = cloakroom.objects
        server.fail(.putObject, keyPrefix: "photos/u_1/b", nth: 2, with: .response(status: 403, code: "AccessDenied"))
        for (key, expected) in [("a", nil), ("b", nil), ("a", nil), ("b", CloakroomError.Code.accessDenied)] {
            let failure = await code {
                _ = try await objects.put(Data(), to: "photos/u_1/\(key)")
            }
            #expect(failure == expected)
        }
    }

    @Test func `another host is unreachable`() async throws {
        let url = try #require(URL(string: "https://example.com/"))
        await #expect(throws: HTTPTransportError.unreachable) {
            try await server.transport.send(HTTPRequest(method: "GET", url: url))
        }
    }

    @Test func `what a test sees holds no secret`() async throws {
        _ = await cloakroom.backup.backUp(try app.photos(1))
        _ = try await cloakroom.uploads.uploadGroupImage(
            UploadContent(Data([1]), contentType: "image/jpeg"), conversationID: "c")
        let seen = "\(server.requests())"
        #expect(!seen.contains("Signature") && !seen.contains("Bearer") && !seen.contains("?"))
        #expect(seen.contains("photos/u_1/"))
    }

    @Test func `a kit with the device's own clock agrees with the server's`() async throws {
        let endpoint = server.endpoint
        var configuration = Cloakroom.Configuration(
            endpoint: endpoint, transport: server.transport, backgroundTransport: server.transport)
        configuration.s3Endpoint = server.s3Endpoint
        configuration.folder = app.folder.appendingPathComponent("real")
        let other = try Cloakroom(configuration: configuration, user: "u_1", tokens: server.tokens(forUser: "u_1"))
        try await other.objects.put(Data([1]), to: "photos/u_1/a")
        server.advance(by: .seconds(40 * 86_400))
        #expect(try await other.objects.get("photos/u_1/a") == Data([1]))
        #expect(server.count(.vendCredentials) == 2)
    }
}
