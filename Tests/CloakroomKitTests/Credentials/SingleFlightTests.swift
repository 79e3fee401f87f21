import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct SingleFlightTests {
    private let fake = FakeRuntime()
    private let gate = Gate()

    /// Vends when the gate is open.
    private func gated(_ outcome: Result<Void, CloakroomError> = .success(())) -> ScriptedVendor {
        ScriptedVendor { [fake, gate] number in
            guard await gate.pass() else { throw CancellationError() }
            try outcome.get()
            return .numbered(number, until: fake.time(in: .seconds(3600)))
        }
    }

    private func provider(_ vendor: ScriptedVendor) -> CredentialProvider {
        CredentialProvider(vendor: vendor, runtime: fake.runtime)
    }

    /// A caller, and what it got: the access key or the code of the error.
    private func caller(of provider: CredentialProvider) -> Task<String, Never> {
        Task { await call(provider) }
    }

    private func call(_ provider: CredentialProvider) async -> String {
        do {
            return try await provider.credentials().accessKeyID
        } catch {
            return error.code.rawValue
        }
    }

    /// Comes back once so many wait.
    private func waiters(_ count: Int, of provider: CredentialProvider) async throws {
        try await until { await provider.waiterCount >= count }
    }

    @Test(
        arguments: [(nil, "ASIA0"), (CloakroomError.vendorUnreachable, "unreachable")] as [(CloakroomError?, String)])
    func `a thousand callers make one request, and all get its outcome`(
        error: CloakroomError?, outcome: String
    ) async throws {
        let vendor = gated(error.map { .failure($0) } ?? .success(()))
        let provider = provider(vendor)
        let callers = (0..<1000).map { _ in caller(of: provider) }
        try await waiters(1000, of: provider)
        await gate.open()
        for caller in callers { #expect(await caller.value == outcome) }
        #expect(await vendor.requests == 1)
        #expect(await provider.waiterCount == 0)
    }

    @Test(arguments: [[0], [1], [2], [0, 1], [0, 2], [1, 2]])
    func `who is cancelled leaves alone`(cancelled: [Int]) async throws {
        let vendor = gated()
        let provider = provider(vendor)
        let callers = (0..<3).map { _ in caller(of: provider) }
        try await waiters(3, of: provider)
        for index in cancelled {
            callers[index].cancel()
            #expect(await callers[index].value == "cancelled")
        }
        await gate.open()
        for index in 0..<3 where !cancelled.contains(index) { #expect(await callers[index].value == "ASIA0") }
        #expect(await vendor.requests == 1)
    }

    @Test func `when all are cancelled the request goes on, and what it gives is kept`() async throws {
        let vendor = gated()
        let provider = provider(vendor)
        let callers = (0..<3).map { _ in caller(of: provider) }
        try await waiters(3, of: provider)
        for caller in callers { caller.cancel() }
        for caller in callers { #expect(await caller.value == "cancelled") }
        await gate.open()
        await fake.settle()
        #expect(await caller(of: provider).value == "ASIA0")
        #expect(await vendor.requests == 1)
    }

    @Test func `who is cancelled already starts nothing`() async {
        let vendor = gated()
        let provider = provider(vendor)
        let start = Gate()
        let caller = Task {
            _ = await start.pass()
            return await call(provider)
        }
        caller.cancel()
        #expect(await caller.value == "cancelled")
        #expect(await vendor.requests == 0)
    }

    @Test func `cancelling as fast as calling leaves nobody waiting`() async {
        let vendor = gated()
        let provider = provider(vendor)
        let callers = (0..<500).map { _ in caller(of: provider) }
        for caller in callers { caller.cancel() }
        for caller in callers { #expect(await caller.value == "cancelled") }
        #expect(await provider.waiterCount == 0)
        await gate.open()
        await fake.settle()
        #expect(await vendor.requests <= 1)
    }

    @Test func `forgetting ends what is under way: its waiters, its request and its outcome`() async throws {
        let vendor = gated()
        let store = MemoryStore()
        let provider = CredentialProvider(vendor: vendor, store: store, runtime: fake.runtime)
        let callers = (0..<3).map { _ in caller(of: provider) }
        try await waiters(3, of: provider)
        await vendor.arrival(of: 1)
        await provider.forget()
        for caller in callers { #expect(await caller.value == "cancelled") }
        await fake.settle()
        #expect(await vendor.concurrency == 0)
        #expect(await store.record == nil)
        await gate.open()
        #expect(await caller(of: provider).value == "ASIA1")
    }

    @Test func `a vendor that does not heed cancellation has no say after forgetting`() async {
        let stubborn = Gate()
        let vendor = ScriptedVendor { [fake] number in
            // A task of its own is not cancelled.
            if number == 0 { await Task { _ = await stubborn.pass() }.value }
            return .numbered(number, until: fake.time(in: .seconds(3600)))
        }
        let store = MemoryStore()
        let provider = CredentialProvider(vendor: vendor, store: store, runtime: fake.runtime)
        let old = caller(of: provider)
        await vendor.arrival(of: 1)
        await provider.forget()
        #expect(await old.value == "cancelled")
        #expect(await caller(of: provider).value == "ASIA1")
        await stubborn.open()
        await fake.settle()
        #expect(await caller(of: provider).value == "ASIA1")
        let reading = ClockReading(wallClock: fake.wallTime, instant: fake.now)
        #expect(await store.record?.resumed(at: reading)?.vended.accessKeyID == "ASIA1")
    }
}
