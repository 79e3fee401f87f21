import CloakroomFastCGI
import Foundation
import Glibc
import CloakroomLoop
import CloakroomServer
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
        let ready = [WorkerMemory.beats: UInt64(1), WorkerMemory.readiness: 2]
        let worker = try bench.worker(.current, ready, isPublished: true)
        try slot.adopt(worker, ownsSocket: true)
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

    @Test @LoopActor func `in place of a worker that crashes comes one with the settings of the last reload`()
        async throws
    {
        let bench = try SlotBench(SlotBench.comesUp + "\n# first")
        let slot = bench.slot
        slot.start()
        try await bench.look { slot.published != nil }
        try bench.write(SlotBench.comesUp + "\n# second")
        #expect(try await bench.settings(of: bench.started(1)).hasSuffix("# first"))
        for isDone in [false, true] {
            bench.launcher.takeSettings(try bench.text())
            slot.replace()
            let replacement = try await bench.started(isDone ? 4 : 2)
            try await bench.look { slot.replacement == .done }
            #expect(try bench.settings(of: replacement).hasSuffix("# second"))
            bench.launcher.reloaded(isDone)
            kill(replacement, SIGKILL)
            _ = try await bench.end(of: replacement)
            // Another program lies at the path, which a reload that failed has not taken.
            try await bench.look { slot.published != nil && slot.published?.process != replacement }
            let next = try await bench.started(isDone ? 5 : 3)
            #expect(try bench.settings(of: next).hasSuffix(isDone ? "# second" : "# first"))
        }
    }

    @Test @LoopActor func `a replacement that cannot be started has failed, and the worker keeps its place`()
        async throws
    {
        let bench = try SlotBench(SlotBench.comesUp)
        bench.slot.start()
        try await bench.look { bench.slot.published != nil }
        let worker = bench.slot.published
        try bench.removeProgram()
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

/// A slot, and a shell script in place of the program: it is given what a worker is given.
@LoopActor
private final class SlotBench {
    struct TimeoutError: Error {}

    let slot: WorkerSlot
    private let folder: TemporaryFolder
    private let lifeline: SharedLifeline
    let launcher: WorkerLauncher
    private var script: String { folder["script"] }
    var socket: String { folder["w.sock"] }

    /// Binds its temporary socket, and is written down as started.
    private static let starts =
        #": > "$socket.$$"; cat /proc/self/fd/6 > "$socket.settings.$$"; echo $$ >> "$socket.started"; "#
    /// Ends with the lifeline, at the latest.
    private static let waits = "exec cat <&3 >&2"
    /// Counts a beat: up only when it is written down.
    static let comesUp = starts + #"printf '\1\0\0\0\0\0\0\0' >&4; "# + waits
    /// The same, and says that it is not ready.
    static let comesUpNotReady =
        starts + #"(head -c 32 /dev/zero; printf '\1') | dd of=/proc/self/fd/4 conv=notrunc 2>&-; "#
        + #"printf '\1\0\0\0\0\0\0\0' >&4; "# + waits
    /// Leaves only when it is killed.
    static let neverComesUp = "trap '' TERM; " + starts + waits

    init(_ script: String) throws {
        folder = try TemporaryFolder()
        lifeline = SharedLifeline(try Lifeline())
        let program = folder["program"]
        try "#!/bin/sh\nsocket=${3#unix:}\n. \"$8\"\n".write(toFile: program, atomically: false, encoding: .utf8)
        chmod(program, 0o755)
        try script.write(toFile: folder["script"], atomically: true, encoding: .utf8)
        launcher = WorkerLauncher(
            file: ProgramFile(path: program), ownProgram: program, lifeline: lifeline, settingsFile: folder["script"],
            folder: nil)
        let timeouts = WorkerSlot.Timeouts(hungAfter: .seconds(60), drain: .seconds(5), ready: .milliseconds(500))
        slot = WorkerSlot(
            address: .unix(path: folder["w.sock"]), program: launcher, timeouts: timeouts,
            log: Log(sink: nil, level: .error))
    }

    func text() throws -> String { try String(contentsOfFile: script, encoding: .utf8) }

    /// What the next worker does.
    func write(_ script: String) throws { try script.write(toFile: self.script, atomically: true, encoding: .utf8) }

    func removeProgram() throws { try FileManager.default.removeItem(atPath: folder["program"]) }

    var hasSocket: Bool { FileManager.default.fileExists(atPath: socket) }

    func hasSocket(of process: pid_t) -> Bool { FileManager.default.fileExists(atPath: "\(socket).\(process)") }

    /// The processes in the order of their starts.
    var started: [pid_t] {
        get throws {
            let file = "\(socket).started"
            guard FileManager.default.fileExists(atPath: file) else { return [] }
            return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").compactMap { pid_t($0) }
        }
    }

    /// Waits for the process that is the `number`th to be started.
    func started(_ number: Int) async throws -> pid_t {
        var started: [pid_t] = []
        try await wait {
            started = try self.started
            return started.count >= number
        }
        return started[number - 1]
    }

    /// As the process was given them.
    func settings(of process: pid_t) throws -> String {
        try String(contentsOfFile: "\(socket).settings.\(process)", encoding: .utf8)
    }

    /// Whether the process has ended; it is still to be waited for.
    func hasEnded(_ process: pid_t) -> Bool {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return text.contains(") Z ")
    }

    /// Lets the slot look after its workers until `condition` holds.
    func look(until condition: () throws -> Bool) async throws {
        try await wait {
            slot.look()
            return try condition()
        }
    }

    /// Waits for the end of a process, and tells the slot.
    func end(of process: pid_t) async throws -> ChildProcess.Termination {
        var status: Int32 = 0
        try await wait { waitpid(process, &status, WNOHANG) == process }
        let signal = status & 0x7F
        let end: ChildProcess.Termination = signal == 0 ? .exited(status: status >> 8 & 0xFF) : .killed(signal: signal)
        slot.ended(process, end)
        return end
    }

    private func wait(until condition: () throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(10)
        while try !condition() {
            guard .now < end else { throw TimeoutError() }
            try await LoopActor.sleep(for: .milliseconds(1))
        }
    }

    /// A process as the program that ran before hands it on, with these words in its memory.
    func worker(
        _ role: SupervisorState.Worker.Role, _ words: [Int: UInt64], started age: Duration = .zero,
        isPublished: Bool = false
    ) throws -> SupervisorState.Worker {
        let process = try ChildProcess.spawn(
            "/bin/sh", arguments: ["sh", "-c", "exec cat <&3 >&2"], descriptors: [lifeline.lifeline.readEnd.raw])
        let (counters, memory) = try MappedCounters.shared(count: WorkerMemory.count)
        for (place, value) in words { counters.add(value, at: place) }
        let descriptor = memory.withDescriptor { fcntl($0, F_DUPFD_CLOEXEC, 3) }
        return SupervisorState.Worker(
            slot: 0, role: role, process: process, start: Monotonic.now - age.nanoseconds, isPublished: isPublished,
            memory: descriptor)
    }
}
