import CloakroomFastCGI
import Foundation
import Glibc
import CloakroomLoop
import CloakroomServer
import CloakroomTestSupport
import Testing

@testable import CloakroomCommand

/// A slot, and a shell script in place of the program: it is given what a worker is given.
@LoopActor
final class SlotBench {
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
        try Self.install(#". "$8""#, at: program)
        try script.write(toFile: folder["script"], atomically: true, encoding: .utf8)
        launcher = WorkerLauncher(
            file: ProgramFile(path: program), ownProgram: program, lifeline: lifeline, settingsFile: folder["script"],
            settings: Self.settings(in: folder["script"]), folder: nil)
        let timeouts = WorkerSlot.Timeouts(hungAfter: .seconds(60), drain: .seconds(5), ready: .milliseconds(500))
        slot = WorkerSlot(
            address: .unix(path: folder["w.sock"]), program: launcher, timeouts: timeouts,
            log: Log(sink: nil, level: .error))
    }

    /// The script as it is now, for a reload.
    func settings() -> SharedMemory? { Self.settings(in: script) }

    private static func settings(in file: String) -> SharedMemory? {
        var files = SettingsFiles()
        _ = files.bytes(of: file)
        return files.memory
    }

    /// What the next worker does.
    func write(_ script: String) throws { try script.write(toFile: self.script, atomically: true, encoding: .utf8) }

    /// Puts another program at the path.
    func install(_ commands: String) throws { try Self.install(commands, at: folder["program"]) }

    private static func install(_ commands: String, at path: String) throws {
        try "#!/bin/sh\nsocket=${3#unix:}\n\(commands)\n".write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, 0o755)
    }

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

    /// The script as the process was given it in place of settings.
    func settings(of process: pid_t) throws -> String {
        let text = try String(contentsOfFile: "\(socket).settings.\(process)", encoding: .utf8)
        var files = try #require(SettingsFiles(text))
        let bytes = files.bytes(of: script)
        return String(decoding: try #require(bytes), as: UTF8.self)
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

    /// Kills the worker that the socket's path leads to.
    ///
    /// - Returns: the settings that the one has which follows it.
    func settingsAfterCrash() async throws -> String {
        let victim = try #require(slot.published).process
        kill(victim, SIGKILL)
        _ = try await end(of: victim)
        try await look { slot.published != nil }
        let successor = try #require(slot.published).process
        return try settings(of: successor)
    }

    private func wait(until condition: () throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(10)
        while try !condition() {
            guard .now < end else { throw TimeoutError() }
            try await LoopActor.sleep(for: .milliseconds(1))
        }
    }

    /// Gives the slot a worker that is ready.
    func adoptReady() throws -> SupervisorState.Worker {
        let worker = try worker(
            .current, [WorkerMemory.beats: 1, WorkerMemory.readiness: 2], isPublished: true)
        try slot.adopt(worker, ownsSocket: true)
        return worker
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
