import CloakroomKitTestSupport
import Testing

@testable import CloakroomKit

struct ByteBudgetTests {
    private let budget = ByteBudget(capacity: 10)

    @Test func `lets in who fits, but nobody past those who wait`() async throws {
        let gate = Gate()
        let first = Task { try await budget.spending(8) { _ = await gate.pass() } }
        try await until { await budget.free == 2 }
        let second = Task { try await budget.spending(5) {} }
        try await until { await budget.waiterCount == 1 }
        // Would fit, and waits all the same: or large ones would never come to their turn.
        let third = Task { try await budget.spending(1) {} }
        try await until { await budget.waiterCount == 2 }
        #expect(await budget.free == 2)
        await gate.open()
        for task in [first, second, third] { try await task.value }
        #expect(await budget.free == 10)
    }

    @Test func `gives back what was taken, whatever comes of it`() async throws {
        struct BodyError: Error {}
        await #expect(throws: BodyError.self) { try await budget.spending(7) { throw BodyError() } }
        #expect(await budget.free == 10)
        try await budget.spending(-5) { #expect(await budget.free == 10) }
        try await budget.spending(99) { #expect(await budget.free == 0) }
        #expect(await budget.free == 10)
    }

    @Test func `lets out of the line who is cancelled, and lets in who stood behind`() async throws {
        let gate = Gate()
        let first = Task { try await budget.spending(8) { _ = await gate.pass() } }
        try await until { await budget.free == 2 }
        let second = Task { try await budget.spending(5) {} }
        try await until { await budget.waiterCount == 1 }
        let third = Task { try await budget.spending(2) {} }
        try await until { await budget.waiterCount == 2 }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        try await third.value
        await gate.open()
        try await first.value
        #expect(await budget.free == 10)
    }

    @Test func `takes nothing for a task that is cancelled already`() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await budget.spending(1) {}
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(await budget.free == 10)
    }
}
