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
