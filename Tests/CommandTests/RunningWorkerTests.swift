import Glibc
import CloakroomLoop
import Testing
import CloakroomTestSupport

@testable import CloakroomCommand

@Suite(.onLoop)
struct RunningWorkerTests {
    @Test @LoopActor func `a worker is waited for as its own settings say, not those of its supervisor`() throws {
        let (_, memory) = try MappedCounters.shared(count: WorkerMemory.count)
        let worker = try RunningWorker(process: getpid(), memory: memory)
        let supervisors = WorkerSlot.Timeouts(hungAfter: .milliseconds(500), drain: .seconds(5))
        // A worker of an earlier version tells none.
        #expect(worker.limits(or: supervisors) == supervisors)
        _ = try memory.withDescriptor { (descriptor) throws(SystemError) in
            try Heartbeat(descriptor: descriptor, within: .seconds(60), drain: .seconds(120))
        }
        #expect(worker.limits(or: supervisors) == .init(hungAfter: .seconds(60), drain: .seconds(120)))
        #expect(!worker.isUp)
    }

    @Test @LoopActor func `a worker tells which program it runs, and one of an earlier version runs another`() throws {
        let (_, memory) = try MappedCounters.shared(count: WorkerMemory.count)
        let worker = try RunningWorker(process: getpid(), memory: memory)
        let own = try #require(FileIdentity(ProgramFile.own))
        #expect(!worker.runs(own))
        _ = try memory.withDescriptor { (descriptor) throws(SystemError) in
            try Heartbeat(descriptor: descriptor, within: .seconds(60), drain: .seconds(120))
        }
        #expect(worker.runs(own))
        let other = try #require(FileIdentity("/bin/sh"))
        #expect(!worker.runs(other))
    }

    @Test @LoopActor func `the next supervisor finds with the worker that a reload is due`() throws {
        let (_, memory) = try MappedCounters.shared(count: WorkerMemory.count)
        let worker = try RunningWorker(process: getpid(), memory: memory)
        #expect(!worker.isReloadDue)
        worker.markReloadDue()
        #expect(try RunningWorker(process: getpid(), memory: memory).isReloadDue)
    }

    @Test @LoopActor func `the next supervisor finds which workers have the settings of a reload that failed`() throws {
        let (words, memory) = try MappedCounters.shared(count: WorkerMemory.count)
        let worker = try RunningWorker(process: getpid(), memory: memory)
        for _ in 1...2 { worker.markReloadDue() }
        // As an earlier version's supervisor marks.
        for _ in 1...3 { words.add(1, at: WorkerMemory.reloadDue) }
        #expect(!worker.isOfFailedReload)
        worker.markFailedReload()
        worker.markReloadDue()
        let found = try RunningWorker(process: getpid(), memory: memory)
        #expect(found.isOfFailedReload && found.isReloadDue)
    }

    @Test @LoopActor func `the time in which the supervisor does not run is no silence of a worker`() throws {
        let (counters, memory) = try MappedCounters.shared(count: WorkerMemory.count)
        let worker = try RunningWorker(process: getpid(), memory: memory)
        var now = Monotonic.now
        func silence(after time: Duration) -> Duration {
            now += time.nanoseconds
            worker.look(now: now)
            return worker.silence
        }
        counters.add(1, at: WorkerMemory.beats)
        #expect(silence(after: .milliseconds(50)) == .zero)
        #expect(silence(after: .milliseconds(50)) == .milliseconds(50))
        // All processes of the service are stopped, and this one goes on first.
        #expect(silence(after: .seconds(60)) == .milliseconds(150))
        #expect(silence(after: .milliseconds(50)) == .milliseconds(200))
        // One that is hung is found, though every look is late.
        for _ in 1...48 { _ = silence(after: .seconds(2)) }
        #expect(worker.silence == .seconds(5))
        counters.add(1, at: WorkerMemory.beats)
        #expect(silence(after: .seconds(2)) == .zero)
    }

    @Test @LoopActor func `a worker is overdue when its time to stop is up, until it is killed`() throws {
        func worker() throws -> RunningWorker {
            let (counters, memory) = try MappedCounters.shared(count: WorkerMemory.count)
            counters.add(1, at: WorkerMemory.beats)
            // It is waited for nowhere: the test's end is its own.
            let process = try ChildProcess.spawn("/bin/true", arguments: ["true"], descriptors: [])
            let worker = try RunningWorker(process: process, memory: memory)
            worker.look()
            return worker
        }
        let patient = try worker()
        #expect(!patient.isOverdue)
        patient.leave(within: .seconds(60))
        #expect(!patient.isOverdue)
        let overdue = try worker()
        overdue.leave(within: .zero)
        #expect(overdue.isOverdue)
        overdue.kill()
        #expect(!overdue.isOverdue && overdue.isEnding)
    }
}
