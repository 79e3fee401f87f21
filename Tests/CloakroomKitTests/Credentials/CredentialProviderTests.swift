import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct CredentialProviderTests {
    private let fake = FakeRuntime()

    /// Vends for an hour each time.
    private func hourly(
        failing failures: Set<Int> = [], with error: any Error = CloakroomError.vendorUnreachable
    ) -> ScriptedVendor {
        ScriptedVendor { [fake] number in
            if failures.contains(number) { throw error }
            return .numbered(number, until: fake.time(in: .seconds(3600)))
        }
    }

    private func provider(_ vendor: ScriptedVendor) -> CredentialProvider {
        CredentialProvider(vendor: vendor, runtime: fake.runtime)
    }

    /// What a call gives: the access key, or the code of the error.
    private func call(_ provider: CredentialProvider) async -> String {
        do {
            return try await provider.credentials().accessKeyID
        } catch {
            return error.code.rawValue
        }
    }

    @Test func `requests once, and hands out what it holds for half of the lifetime`() async {
        let vendor = hourly()
        let provider = provider(vendor)
        #expect(await call(provider) == "ASIA0")
        fake.pass(.seconds(1799))
        #expect(await call(provider) == "ASIA0")
        await fake.settle()
        #expect(await vendor.requests == 1)
    }

    @Test func `from half of the lifetime on hands out the held ones while others come`() async {
        let gate = Gate()
        let vendor = ScriptedVendor { [fake] number in
            if number > 0 { _ = await gate.pass() }
            return .numbered(number, until: fake.time(in: .seconds(3600)))
        }
        let provider = provider(vendor)
        #expect(await call(provider) == "ASIA0")
        fake.pass(.seconds(1800))
        #expect(await call(provider) == "ASIA0")
        await vendor.arrival(of: 2)
        #expect(await call(provider) == "ASIA0")
        await gate.open()
        await fake.settle()
        #expect(await call(provider) == "ASIA1")
        #expect(await vendor.requests == 2)
    }

    /// A stolen phone keeps nothing that is still good for a while.
    @Test func `forgets what it holds, in the store too, once the sessions are revoked`() async throws {
        let store = MemoryStore()
        let vendor = hourly(failing: [1, 2], with: CloakroomError(.sessionRevoked, "Session revoked"))
        let provider = CredentialProvider(vendor: vendor, store: store, runtime: fake.runtime)
        #expect(await call(provider) == "ASIA0")
        await fake.settle()
        #expect(await store.record != nil)
        fake.pass(.seconds(1800))
        #expect(await call(provider) == "ASIA0")
        await fake.settle()
        #expect(await store.record == nil)
        #expect(await call(provider) == "session_revoked")
        // After another sign-in.
        #expect(await call(provider) == "ASIA3")
    }

    @Test func `in the last five minutes callers wait for others`() async {
        let provider = provider(hourly())
        #expect(await call(provider) == "ASIA0")
        fake.pass(.seconds(3300))
        #expect(await call(provider) == "ASIA1")
    }

    @Test(arguments: [600, 300, 60, 8])
    func `short-lived ones are handed out for half of their lifetime`(lifetime: Int) async {
        let vendor = ScriptedVendor { [fake] number in .numbered(number, until: fake.time(in: .seconds(lifetime))) }
        let provider = provider(vendor)
        #expect(await call(provider) == "ASIA0")
        fake.pass(.milliseconds(lifetime * 500 - 1))
        #expect(await call(provider) == "ASIA0")
        fake.pass(.milliseconds(1))
        #expect(await call(provider) == "ASIA1")
        #expect(await vendor.requests == 2)
    }

    @Test func `the same ones returned are not requested again before half of what is left`() async {
        let end = fake.time(in: .seconds(3600))
        let vendor = ScriptedVendor { _ in .numbered(0, until: end) }
        let provider = provider(vendor)
        var askedAt: [Int] = []
        for second in 0..<3600 {
            let before = await vendor.requests
            #expect(await call(provider) == "ASIA0")
            await fake.settle()
            if await vendor.requests > before { askedAt.append(second) }
            fake.pass(.seconds(1))
        }
        #expect(askedAt == [0, 1800, 2700, 3150, 3375, 3488, 3544, 3572, 3586, 3593, 3597, 3599])
    }

    @Test func `a failure in the background is not seen, and not repeated before its pause is over`() async {
        let vendor = hourly(failing: [1, 2])
        let provider = provider(vendor)
        _ = await call(provider)
        fake.pass(.seconds(1800))
        // The longest pauses: 1 + 2 s, then 1 + 4 s.
        for (pause, requests) in [(0, 2), (2, 2), (1, 3), (4, 3), (1, 4)] {
            fake.pass(.seconds(pause))
            #expect(await call(provider) == "ASIA0")
            await fake.settle()
            #expect(await vendor.requests == requests)
        }
        #expect(await call(provider) == "ASIA3")
    }

    @Test func `the pause is no shorter than Retry-After`() async {
        let error = CloakroomError(.tooManyRequests, "slow down", status: 429, retryAfter: .seconds(600))
        let vendor = hourly(failing: [1], with: error)
        let provider = provider(vendor)
        _ = await call(provider)
        fake.pass(.seconds(1800))
        for (pause, requests) in [(0, 2), (599, 2), (1, 3)] {
            fake.pass(.seconds(pause))
            #expect(await call(provider) == "ASIA0")
            await fake.settle()
            #expect(await vendor.requests == requests)
        }
    }

    @Test func `a failure in the last five minutes hands out what is still valid, to the end`() async {
        let vendor = hourly(failing: Set(1...100))
        let provider = provider(vendor)
        _ = await call(provider)
        fake.pass(.seconds(3300))
        for _ in 0..<300 {
            #expect(await call(provider) == "ASIA0")
            fake.pass(.seconds(1))
        }
        #expect(await call(provider) == "unreachable")
        // 3, 5, 9, 17, 33 and then 61 s between them, and one at the end.
        #expect(await vendor.requests == 11)
    }

    @Test func `without valid ones each call retries, and the first success counts`() async {
        let vendor = hourly(failing: [0, 1, 2])
        let provider = provider(vendor)
        var calls: [String] = []
        for _ in 0..<5 { calls.append(await call(provider)) }
        #expect(calls == ["unreachable", "unreachable", "unreachable", "ASIA3", "ASIA3"])
        #expect(await vendor.requests == 4)
    }

    @Test func `Retry-After is honored, and callers get what is left of it`() async throws {
        let busy = CloakroomError(.tooManyRequests, "slow down", status: 429, retryAfter: .seconds(600))
        let vendor = hourly(failing: [0], with: busy)
        let provider = provider(vendor)
        #expect(await call(provider) == "too_many_requests")
        fake.pass(.seconds(599))
        var rest = busy
        rest.retryAfter = .seconds(1)
        await #expect(throws: rest) { try await provider.credentials() }
        #expect(await vendor.requests == 1)
        fake.pass(.seconds(1))
        #expect(await call(provider) == "ASIA1")
    }

    @Test func `no server is left alone for longer than an hour`() async {
        let busy = CloakroomError(.unavailable, "later", status: 503, retryAfter: .seconds(1_000_000))
        let provider = provider(hourly(failing: [0], with: busy))
        #expect(await call(provider) == "unavailable")
        fake.pass(.seconds(3600))
        #expect(await call(provider) == "ASIA1")
    }

    @Test func `ones that come ended are an error, and what is held stays`() async {
        let vendor = ScriptedVendor { [fake] number in
            .numbered(number, until: fake.time(in: number == 0 ? .seconds(3600) : .zero))
        }
        let provider = provider(vendor)
        #expect(await call(provider) == "ASIA0")
        fake.pass(.seconds(3599))
        #expect(await call(provider) == "ASIA0")
        fake.pass(.seconds(1))
        #expect(await call(provider) == "invalid_response")
        #expect(await vendor.requests == 3)
    }

    @Test(
        arguments: [
            (CloakroomError(.userDisabled, "gone", status: 403), "user_disabled"),
            (CancellationError(), "cancelled"),
            (URLError(.badURL), "unknown"),
        ] as [(any Error, String)])
    func `whatever the vendor throws becomes an error with a code`(error: any Error, code: String) async {
        #expect(await call(provider(hourly(failing: [0], with: error))) == code)
    }

    @Test func `refused ones are dropped, and the next call gets others`() async throws {
        let vendor = hourly()
        let provider = provider(vendor)
        await provider.refuse(try await provider.credentials())
        #expect(await call(provider) == "ASIA1")
        #expect(await vendor.requests == 2)
    }

    @Test func `a late refusal of older ones does nothing`() async throws {
        let vendor = hourly()
        let provider = provider(vendor)
        let old = try await provider.credentials()
        await provider.refuse(old)
        #expect(await call(provider) == "ASIA1")
        await provider.refuse(old)
        #expect(await call(provider) == "ASIA1")
        #expect(await vendor.requests == 2)
    }

    @Test func `one refusal after the other does not hammer the vendor`() async throws {
        let vendor = hourly()
        let provider = provider(vendor)
        for _ in 0..<600 {
            await provider.refuse(try await provider.credentials())
            fake.pass(.milliseconds(100))
        }
        // After 0, 1, 2, 4, 8, 16 and 32 s of use.
        #expect(await vendor.requests == 7)
        fake.pass(.seconds(60))
        await provider.refuse(try await provider.credentials())
        #expect(await call(provider) == "ASIA7")
        #expect(await vendor.requests == 8)
    }

    @Test func `signs S3 requests: gives what is held, and others after a refusal`() async throws {
        let vendor = hourly(failing: [2])
        let provider = provider(vendor)
        let source = provider.source
        let first = try await source.current()
        #expect(first.accessKeyID == "ASIA0")
        await source.onRejected(first)
        let second = try await source.current()
        #expect(second.accessKeyID == "ASIA1")
        fake.pass(.seconds(1))
        await source.onRejected(second)
        await #expect(throws: CloakroomError.vendorUnreachable) { try await source.current() }
    }
}
