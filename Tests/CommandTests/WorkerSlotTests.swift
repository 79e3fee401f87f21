import Foundation
import Glibc
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomCommand

/// What becomes of the workers of a slot: they come up, are replaced, crash, hang and leave.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct WorkerSlotTests {
    private typealias Role = SupervisorState.Worker.Role

    @Test @LoopActor func `a replacement takes the place when it is up, and the former worker is told to stop`()
        async throws
    {
        let bench = try SlotBench(SlotBench.comesUp)
        let slot = bench.slot
        slot.start()
        #expect(slot.isStarting && slot.published == nil && !bench.hasSocket)
        try await bench.look { slot.published != nil }
        let former = try #require(slot.published)
        #expect(bench.hasSocket)

        slot.replace()
        #expect(slot.replacement == .underWay && slot.published === former)
        try await bench.look { slot.replacement == .done }
        #expect(try slot.published?.process == bench.started.last && slot.published !== former)
        #expect(slot.leaving.map(\.process) == [former.process])
        #expect(try await bench.end(of: former.process) == .killed(signal: SIGTERM))
        #expect(slot.leaving.isEmpty && slot.replacement == .done)
    }

    @Test @LoopActor func `a worker that is not up when it is replaced is ended at once`() async throws {
        let bench = try SlotBench(SlotBench.neverComesUp)
        bench.slot.start()
        let first = try await bench.started(1)
        bench.slot.replace()
        #expect(try await bench.end(of: first) == .killed(signal: SIGKILL))
        #expect(bench.slot.leaving.isEmpty && bench.slot.replacement == .underWay)
        #expect(try await bench.started(2) != first)
    }

    @Test @LoopActor func `a replacement that ends before it is up has failed, and the worker keeps its place`()
        async throws
    {
        let bench = try SlotBench(SlotBench.comesUp)
        let slot = bench.slot
        slot.start()
        try await bench.look { slot.published != nil }
        let worker = slot.published
        try bench.write(#"echo $$ >> "$socket.started"; exit 3"#)
        slot.replace()
        #expect(try await bench.end(of: try await bench.started(2)) == .exited(status: 3))
        #expect(slot.replacement == .failed && slot.published === worker && slot.leaving.isEmpty)
    }

    @Test @LoopActor func `a replacement that is not ready in time takes no place of one that is`() async throws {
        let bench = try SlotBench("")
        let slot = bench.slot
        let worker = try bench.adoptReady()
        try bench.write(SlotBench.comesUpNotReady)
        slot.replace()
        let second = try await bench.started(1)
        for _ in 0..<50 {
            slot.look()
            try await LoopActor.sleep(for: .milliseconds(2))
        }
        #expect(slot.replacement == .underWay && slot.published?.process == worker.process && slot.leaving.isEmpty)
        try await bench.look { bench.hasEnded(second) }
        #expect(try await bench.end(of: second) == .killed(signal: SIGKILL))
        #expect(slot.replacement == .failed && slot.published?.process == worker.process && slot.leaving.isEmpty)
    }

    @Test @LoopActor
    func `one with what a ready worker had follows it at once, in place of a replacement that is not ready`()
        async throws
    {
        let bench = try SlotBench("")
        let slot = bench.slot
        let worker = try bench.adoptReady()
        try bench.write(SlotBench.comesUpNotReady)
        slot.replace()
        let second = try await bench.started(1)
        try bench.write(SlotBench.comesUp)
        kill(worker.process, SIGKILL)
        _ = try await bench.end(of: worker.process)
        try await bench.look { slot.published != nil }
        let third = try await bench.started(2)
        #expect(slot.published?.process == third && third != second && !bench.hasEnded(second))
        try await bench.look { bench.hasEnded(second) }
        #expect(try await bench.end(of: second) == .killed(signal: SIGKILL))
        #expect(slot.replacement == .failed && slot.published?.process == third)
    }

    @Test @LoopActor func `a replacement that is not ready takes the place of one that has ended before`() async throws
    {
        let bench = try SlotBench("")
        let slot = bench.slot
        let worker = try bench.adoptReady()
        slot.look()
        kill(worker.process, SIGKILL)
        _ = try await bench.end(of: worker.process)
        try bench.write(SlotBench.comesUpNotReady)
        slot.replace()
        try await bench.look { slot.replacement == .done }
        #expect(try slot.published?.process == bench.started.last)
    }

    /// Where the other is not ready either, nothing is lost; and what no request reaches is replaced in any case.
    @Test(arguments: [(UInt64(1), true), (0, true), (2, false)])
    @LoopActor func `a replacement that is not ready takes the place of one that does no better`(
        readiness: UInt64, isReload: Bool
    ) async throws {
        let bench = try SlotBench("")
        let words = [WorkerMemory.beats: UInt64(1), WorkerMemory.readiness: readiness]
        try bench.slot.adopt(try bench.worker(.current, words, isPublished: true), ownsSocket: true)
        try bench.write(SlotBench.comesUpNotReady)
        bench.slot.replace(isReload: isReload)
        try await bench.look { bench.slot.replacement == .done }
        #expect(try bench.slot.published?.process == bench.started.last)
    }

    /// Where Redis begins to refuse, the new worker may find it before the former one does.
    @Test @LoopActor func `a replacement that is not ready takes the place of one that no longer is`() async throws {
        let bench = try SlotBench("")
        let slot = bench.slot
        _ = try bench.adoptReady()
        try bench.write(SlotBench.comesUpNotReady)
        slot.replace()
        let second = try await bench.started(1)
        let memory = try #require(slot.current?.memory)
        let words = try memory.withDescriptor { (descriptor) throws(SystemError) in
            try MappedCounters(descriptor: descriptor, count: WorkerMemory.count)
        }
        words.add(1 &- 2, at: WorkerMemory.readiness)
        try await bench.look { slot.replacement != .underWay }
        #expect(slot.replacement == .done && slot.published?.process == second)
    }

    @Test @LoopActor func `a replacement that cannot be started has failed, and the worker keeps its place`()
        async throws
    {
        let bench = try SlotBench(SlotBench.comesUp)
        bench.slot.start()
        try await bench.look { bench.slot.published != nil }
        let worker = bench.slot.published
        try bench.removeProgram()
        bench.launcher.beginReload(settings: bench.settings())
        bench.slot.replace()
        #expect(bench.slot.replacement == .failed && bench.slot.published === worker)
    }

    @Test @LoopActor func `a worker that crashes is replaced at once, and its temporary socket is removed`()
        async throws
    {
        let bench = try SlotBench(SlotBench.comesUp)
        bench.slot.start()
        try await bench.look { bench.slot.published != nil }
        try bench.write(SlotBench.neverComesUp)
        let first = try await bench.started(1)
        kill(first, SIGKILL)
        #expect(try await bench.end(of: first) == .killed(signal: SIGKILL))
        #expect(bench.slot.current == nil)
        bench.slot.look()
        let second = try await bench.started(2)
        #expect(bench.slot.current?.process == second)
        #expect(bench.hasSocket(of: second))
        kill(second, SIGKILL)
        _ = try await bench.end(of: second)
        #expect(!bench.hasSocket(of: second))
    }

    @Test @LoopActor func `a slot that stops ends the replacement, too`() async throws {
        let bench = try SlotBench(SlotBench.comesUp)
        let slot = bench.slot
        slot.start()
        try await bench.look { slot.published != nil }
        let worker = try await bench.started(1)
        try bench.write(SlotBench.neverComesUp)
        slot.replace()
        let replacement = try await bench.started(2)
        slot.stop()
        #expect(try await bench.end(of: replacement) == .killed(signal: SIGKILL))
        #expect(!slot.isEmpty)
        #expect(try await bench.end(of: worker) == .killed(signal: SIGTERM))
        #expect(slot.isEmpty)
        slot.look()
        #expect(slot.isEmpty)
    }

    @Test @LoopActor func `a worker has as long to stop as its own settings say, whoever started it`() async throws {
        let bench = try SlotBench("")
        let slot = bench.slot
        // One that tells nothing has as long as the supervisor's settings say; 2 s more has each.
        let cases: [(Role, UInt64?, Int)] = [(.current, 60_000, 62), (.leaving, 60_000, 62), (.leaving, nil, 7)]
        for (role, drain, limit) in cases {
            var words: [Int: UInt64] = [WorkerMemory.beats: 1]
            words[WorkerMemory.drain] = drain
            let worker = try bench.worker(role, words)
            let before = Monotonic.now
            try slot.adopt(worker, ownsSocket: true)
            if role == .current { slot.stop() }
            let after = Monotonic.now
            let end = try #require(slot.leaving.last?.killAt)
            let time = Duration.seconds(limit).nanoseconds
            #expect((before + time...after + time).contains(end))
            #expect(slot.leaving.last?.isOverdue == false)
        }
    }

    @Test @LoopActor func `a worker without a beat for longer than its own settings say is killed`() async throws {
        let bench = try SlotBench("")
        let worker = try bench.worker(.current, [WorkerMemory.beats: 1, WorkerMemory.hungAfter: 1])
        try bench.slot.adopt(worker, ownsSocket: true)
        try await bench.look { bench.slot.current?.isEnding == true }
        #expect(try await bench.end(of: worker.process) == .killed(signal: SIGKILL))
    }

    @Test @LoopActor func `a worker that does not come up within 10 s of its start is killed`() async throws {
        let bench = try SlotBench("")
        let young = try bench.worker(.current, [:], started: .seconds(5))
        try bench.slot.adopt(young, ownsSocket: true)
        bench.slot.look()
        #expect(bench.slot.current?.isEnding == false)

        let other = try SlotBench("")
        let old = try other.worker(.current, [:], started: .seconds(11))
        try other.slot.adopt(old, ownsSocket: true)
        other.slot.look()
        #expect(other.slot.current?.isEnding == true)
        #expect(try await other.end(of: old.process) == .killed(signal: SIGKILL))
    }

    @Test(arguments: [true, false])
    @LoopActor func `the socket of an adopted worker is removed only where it is its own`(isOwn: Bool) async throws {
        let bench = try SlotBench("")
        try "".write(toFile: bench.socket, atomically: false, encoding: .utf8)
        let worker = try bench.worker(.current, [WorkerMemory.beats: 1], isPublished: true)
        try bench.slot.adopt(worker, ownsSocket: isOwn)
        bench.slot.stop()
        _ = try await bench.end(of: worker.process)
        bench.slot.removeSocket()
        #expect(bench.hasSocket == !isOwn)
    }
}
