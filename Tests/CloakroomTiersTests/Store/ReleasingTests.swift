import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Synchronization
import Testing

/// The lock is given up when nothing writes any more.
@Suite(.serialized) struct ReleasingTests {
    /// Opened by the test; who waits at it goes on when cancelled.
    private final class Gate: Sendable {
        private let isOpen = Mutex(false)
        private let hasWaiter = Mutex(false)

        var isWaitedAt: Bool { hasWaiter.withLock { $0 } }
        var wasOpened: Bool { isOpen.withLock { $0 } }
        func open() { isOpen.withLock { $0 = true } }

        func pass() async throws {
            hasWaiter.withLock { $0 = true }
            while !isOpen.withLock({ $0 }) {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    private func isMet(_ condition: () -> Bool) async -> Bool {
        // However busy the machine is.
        let end = ContinuousClock.now + .seconds(20)
        while !condition(), ContinuousClock.now < end { await Task.yield() }
        return condition()
    }

    @Test func `a download of all photos ends before the lock is given up, and goes on later`() async throws {
        let gate = Gate()
        let device = try StoreFixture(gate: { call, moment in
            if call.kind == .fetch, moment == .before { try await gate.pass() }
        })
        let ids = try await device.addOld("a", "b", "c")
        #expect(await device.store.run().evicted == 3)
        let isOver = Mutex(false)
        let store = device.store
        let download = Task {
            let report = await store.restoreAll()
            isOver.withLock { $0 = true }
            return report
        }
        #expect(await isMet { gate.isWaitedAt })
        try await store.releaseLock()
        #expect(await isMet { isOver.withLock { $0 } })
        gate.open()
        #expect(await download.value.stoppedBy?.code == .cancelled)
        #expect(await !store.isWriter)
        #expect(device.photoFiles.isEmpty)
        #expect(await store.restoreAll().restored == 3)
        for (id, name) in zip(ids, ["a", "b", "c"]) { #expect(try await device.read(id) == device.bytes[name]) }
    }

    @Test func `the lock is given up at once while many photos come, also those that are about to`() async throws {
        let (began, observer) = AsyncStream.makeStream(of: Void.self)
        let isReleasing = DispatchSemaphore(value: 0)
        let passed = Mutex(0)
        let isOver = Gate()
        // The first one comes, and all others hang until they are cancelled.
        let device = try StoreFixture(gate: { call, moment in
            guard call.kind == .fetch, moment == .before else { return }
            let number = passed.withLock { passed in
                passed += 1
                return passed
            }
            if number > 1 { try await isOver.pass() }
        })
        for number in 0..<40 { try await device.add("photo\(number)") }
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == 40)
        let store = device.store
        let download = Task.detached(priority: .background) {
            await store.restoreAll { done, _ in
                guard done == 1 else { return }
                // The next photo is chosen after this, by the store, and fetched by a task that waits for the store: later
                // than the one that gives up the lock.
                observer.yield()
                _ = isReleasing.wait(timeout: .now() + 5)
            }
        }
        let release = Task.detached(priority: .high) {
            _ = await began.first { _ in true }
            isReleasing.signal()
            try await store.releaseLock()
            return passed.withLock { $0 }
        }
        // One that waits for the downloads ends by this, and has more of them begun.
        let timeout = Task {
            try await Task.sleep(for: .seconds(20))
            isOver.open()
        }
        let begun = try await release.value
        #expect(await download.value.stoppedBy?.code == .cancelled)
        #expect(!timeout.isCancelled && !isOver.wasOpened)
        timeout.cancel()
        isOver.open()
        #expect(begun < 40)
        #expect(await store.restoreAll().stoppedBy == nil)
        #expect(device.photoFiles.count == 40)
    }

    @Test func `a photo that is being added is added before the lock is given up`() async throws {
        let gate = Gate()
        let device = try StoreFixture(thumbnailer: ScriptedThumbnailer { _ in try await gate.pass() })
        let file = try device.write("a", StoreFixture.bytes("a"))
        let (store, now) = (device.store, device.clock.now)
        let adding = Task { try await store.add(file, name: "a", takenAt: now) }
        #expect(await isMet { gate.isWaitedAt })
        let isReleased = Mutex(false)
        let release = Task {
            try await store.releaseLock()
            isReleased.withLock { $0 = true }
        }
        // Long enough for one that does not wait.
        for _ in 0..<1000 { await Task.yield() }
        #expect(!isReleased.withLock { $0 })
        gate.open()
        try await release.value
        let id = try await adding.value
        #expect(await !store.isWriter)
        #expect(try await store.photo(named: "a") == id)
        #expect(device.photoFiles.count == 1)
    }

    @Test func `a rebuild that ends for it says that it was cancelled`() async throws {
        let gate = Gate()
        let device = try StoreFixture(gate: { call, moment in
            if call.kind == .list, moment == .before { try await gate.pass() }
        })
        try await device.add("a")
        let store = device.store
        let rebuild = Task { await CloakroomError.code { _ = try await store.rebuildCatalog() } }
        #expect(await isMet { gate.isWaitedAt })
        try await store.releaseLock()
        #expect(await rebuild.value == .cancelled)
        gate.open()
        #expect(try await store.rebuildCatalog().photos == 1)
    }

    @Test func `a photo that is being opened stops coming before the lock is given up`() async throws {
        let gate = Gate()
        let device = try StoreFixture(gate: { call, moment in
            if call.kind == .fetch, moment == .before { try await gate.pass() }
        })
        let id = try await device.addOld("a")[0]
        _ = await device.store.run()
        let store = device.store
        let opening = Task { await CloakroomError.code { _ = try await store.open(id) } }
        #expect(await isMet { gate.isWaitedAt })
        try await store.releaseLock()
        gate.open()
        #expect(await opening.value == .cancelled)
        #expect(try await device.read(id) == device.bytes["a"])
    }
}
