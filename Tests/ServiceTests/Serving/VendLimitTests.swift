import CloakroomAWS
import Foundation
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// AWS SDKs ask `/v1/credentials` with every call from 15 minutes before the end of their credentials on.
@Suite(.onLoop)
struct VendLimitTests {
    private static let open = "limits: {vend: {requests: 60, whenRedisIsAway: \"open\"}}"

    @Test @LoopActor func `an hour of credentials of 900 s with a request every 18 s refuses none`() async throws {
        let clock = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
        let service = try TestService(Self.open) { _ in
            let end = clock.withLock { $0.addingTimeInterval(900) }
            return .assumed(until: end.formatted(.iso8601))
        }
        var asked = 0
        var expiration = ""
        for number in 0..<200 {
            let answer = await service.ask(
                "GET", "/v1/credentials?lifetimeSeconds=900", fields: ["Authorization": try service.token()])
            #expect(answer.hasPrefix("200\n"), "request \(number): \(answer)")
            if service.transport.requests.count > asked {
                asked = service.transport.requests.count
                expiration = clock.withLock { $0.addingTimeInterval(900) }.formatted(.iso8601)
                let body = String(decoding: service.transport.requests.last?.body ?? [], as: UTF8.self)
                #expect(body.contains("DurationSeconds=900&"), "\(body)")
                #expect(answer.contains(#"RateLimit-Policy: "vend";q=60;w=3600, "vendUser";q=240;w=3600"#))
            } else {
                #expect(answer.contains(#"RateLimit-Policy: "vendAll";q=600;w=3600, "vendAllUser";q=2400;w=3600"#))
            }
            // What is told is what STS said, of whatever age the credentials are.
            #expect(answer.contains("\"Expiration\":\"\(expiration)\""))
            clock.withLock { $0 += 18 }
            service.clock.pass(18)
        }
        #expect(asked > 3 && asked < 60, "\(asked)")
    }

    @Test @LoopActor func `credentials at hand are handed out ten times as often as STS may be asked`() async throws {
        let service = try TestService()
        func ask() async throws -> String {
            await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token())
        }
        for _ in 0..<20 { #expect(try await ask().hasPrefix("200\n")) }
        let refused = try await ask()
        #expect(refused.hasPrefix("429\n") && refused.contains("Too many credential requests"))
        #expect(try await service.logLines().contains(#""reason":"open_refused: vendAll""#))
        #expect(service.transport.requests.count == 1)
    }

    @Test(arguments: [(nil, 1), ("pro", 3)] as [(String?, Int)])
    @LoopActor func `STS may be asked as often as the subject's tier says`(tier: String?, limit: Int) async throws {
        let service = try TestService(
            "limits: {vend: {requests: 1, whenRedisIsAway: \"open\"}}, tiers: {free: {}, pro: {limits: {vend: 3}}}")
        for number in 0...limit {
            // Another lifetime each time: nothing at hand will do.
            let answer = await service.ask(
                "GET", "/v1/credentials?lifetimeSeconds=\(900 + number)",
                fields: ["Authorization": try service.token(tier: tier)])
            #expect(answer.hasPrefix(number < limit ? "200\n" : "429\n"), "\(answer)")
            #expect(answer.contains("\"vend\";q=\(limit);w=3600"), "\(answer)")
        }
        #expect(service.transport.requests.count == limit)
    }

    @Test @LoopActor func `who waited for a call that was not permitted tries with a permit of its own`() async throws {
        let service = try TestService("limits: {vend: {requests: 1, whenRedisIsAway: \"open\"}}")
        let key = try #require(HMACKey(Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8)))
        let signer = TokenSigner(issuer: "https://auth.example", audience: "cloakroom", key: key)
        func ask(_ device: String, lifetime: Int) -> Task<String, Never> {
            let token = signer.token(
                subject: "u_1", deviceID: device, now: service.clock.now, lifetime: .seconds(86_400))
            return LoopActor.spawn {
                await service.ask(
                    "GET", "/v1/credentials?lifetimeSeconds=\(lifetime)", fields: ["Authorization": token])
            }
        }
        // The phone has used up what it may.
        #expect(await ask("phone", lifetime: 900).value.hasPrefix("200\n"))
        // Both at once: the tablet waits for the phone's call.
        let (phone, tablet) = (ask("phone", lifetime: 1000), ask("tablet", lifetime: 1000))
        #expect(await phone.value.hasPrefix("429\n"))
        #expect(await tablet.value.hasPrefix("200\n"))
        #expect(service.transport.requests.count == 2)
    }

    @Test @LoopActor func `an outage of STS uses up none of what a device may vend`() async throws {
        let isDown = Mutex(true)
        let service = try TestService(Self.open) { request in
            isDown.withLock { $0 } ? .error(503, "ServiceUnavailable") : .assumed(for: request)
        }
        func ask() async throws -> String {
            await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token())
        }
        for number in 1...61 {
            let answer = try await ask()
            #expect(answer.hasPrefix("503\n") && answer.contains("\"vend\";r=60;"), "request \(number): \(answer)")
        }
        isDown.withLock { $0 = false }
        let answer = try await ask()
        #expect(answer.hasPrefix("200\n") && answer.contains("\"vend\";r=59;"), "\(answer)")
    }

    @Test @LoopActor func `during an outage of STS all requests for credentials are limited nevertheless`() async throws
    {
        let service = try TestService { _ in .error(503, "ServiceUnavailable") }
        func ask() async throws -> String {
            await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token())
        }
        for _ in 0..<20 { #expect(try await ask().hasPrefix("503\n")) }
        #expect(try await ask().hasPrefix("429\n"))
        #expect(try await service.logLines().contains(#""reason":"open_refused: vendAll""#))
    }

    @Test func `check tells which lifetimes have SDKs ask with every call`() throws {
        func named(_ vending: String, _ more: String = "") throws -> [String] {
            SettingsReview(try settings(smallest(more, vending: vending))).warnings.map(\.text)
                .filter { $0.contains("is below 2400") }.map { String($0.prefix { $0 != " " }) }
        }
        #expect(try named("lifetimeSeconds: 2399") == ["vending.lifetimeSeconds"])
        #expect(try named("lifetimeSeconds: 2400") == [])
        #expect(try named("") == [])
        #expect(
            try named("", "tiers: {free: {lifetimeSeconds: 900}, pro: {}}") == ["tiers.free.lifetimeSeconds"])
    }
}
