import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

/// Callers that wait for one fetch.
@Suite(.serialized) struct FetchCallersTests {
    /// Fetches of the tier begin, and end when they are allowed to.
    private final class Fetches: Sendable {
        private let began = AsyncStream.makeStream(of: Void.self)
        private let mayEnd = AsyncStream.makeStream(of: Void.self)

        func evicted(_ name: String) async throws -> (StoreFixture, PhotoID) {
            let device = try StoreFixture(gate: { [began, mayEnd] call, moment in
                guard call.kind == .fetch, moment == .before else { return }
                began.continuation.yield()
                _ = await mayEnd.stream.first { _ in true }
            })
            let id = try await device.add(name)
            device.clock.pass(days: 31)
            #expect(await device.store.run().evicted == 1)
            return (device, id)
        }

        /// Comes back when one has begun.
        func begin() async { _ = await began.stream.first { _ in true } }

        func end() { mayEnd.continuation.yield() }
    }

    @Test func `a caller that is cancelled is let go at once, and the others get the photo`() async throws {
        let fetches = Fetches()
        let (device, id) = try await fetches.evicted("a")
        let store = device.store
        let first = Task { try await store.open(id, within: .seconds(50)) }
        await fetches.begin()
        let second = Task { try await store.open(id, within: .seconds(50)) }
        first.cancel()
        // The fetch is still under way.
        await #expect(throws: CancellationError.self) { try await first.value }
        fetches.end()
        #expect(try Data(contentsOf: await second.value.url) == device.bytes["a"])
        #expect(device.remote.requests(.fetch) == 1)
    }

    @Test func `a caller that was cancelled before waits for nothing`() async throws {
        let fetches = Fetches()
        let (device, id) = try await fetches.evicted("a")
        let store = device.store
        let caller = Task {
            // Until it is cancelled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            return try await store.open(id, within: .seconds(50))
        }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        fetches.end()
        #expect(try await device.read(id) == device.bytes["a"])
    }

    @Test func `each caller waits no longer than it said`() async throws {
        let fetches = Fetches()
        let (device, id) = try await fetches.evicted("a")
        let store = device.store
        let patient = Task { try await store.open(id, within: .seconds(50)) }
        await fetches.begin()
        let code = await CloakroomError.code { _ = try await store.open(id, within: .milliseconds(5)) }
        #expect(code == .timedOut)
        fetches.end()
        #expect(try Data(contentsOf: await patient.value.url) == device.bytes["a"])
        #expect(device.remote.requests(.fetch) == 1)
    }

    @Test func `a caller in a hurry hurries a fetch that was begun without`() async throws {
        let (began, observer) = AsyncStream.makeStream(of: TaskPriority.self)
        let device = try StoreFixture(gate: { call, moment in
            guard call.kind == .fetch, moment == .before else { return }
            observer.yield(Task.currentPriority)
            // It would not be longer than its callers wait.
            let end = ContinuousClock.now + .seconds(20)
            while Task.currentPriority < .high, ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(1))
            }
        })
        let id = try await device.add("a")
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == 1)
        let store = device.store
        let slow = Task.detached(priority: .background) { try await store.open(id, within: .seconds(10)) }
        #expect(await began.first { _ in true } == .background)
        let fast = Task.detached(priority: .high) { try await store.open(id, within: .seconds(10)) }
        #expect(try Data(contentsOf: await fast.value.url) == device.bytes["a"])
        // Its value may be awaited only now: that would hurry it too.
        _ = try await slow.value
    }
}
