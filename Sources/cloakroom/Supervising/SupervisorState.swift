import Glibc
import CloakroomLoop

/// What a supervisor hands on to the program that runs in its place after SIGUSR2: descriptors that stay open, and
/// children that stay its own.
struct SupervisorState: Equatable {
    struct Worker: Equatable {
        enum Role: String { case current, leaving }

        /// The place of its slot, from 0.
        let slot: Int
        let role: Role
        let process: pid_t
        /// In ``Monotonic`` nanoseconds, which go on.
        let start: UInt64
        let isPublished: Bool
        /// Of its ``WorkerMemory``.
        let memory: Int32
    }

    let lifeline: (read: Int32, write: Int32)
    let workers: [Worker]

    /// The number changes with the layout. A supervisor tries the next program with its own state before that takes over.
    private static let title = "cloakroom supervisor 1"
    /// 256 workers, each with some that leave.
    private static let maximumBytes = 1 << 18

    init(lifeline: (read: Int32, write: Int32), workers: [Worker]) {
        self.lifeline = lifeline
        self.workers = workers
    }

    /// - Parameter text: as ``text`` gives it; `nil` for any other, such as that of a version with another layout.
    init?(_ text: String, slots: Int) {
        let lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        guard lines.first?.joined(separator: " ") == Self.title, lines.count > 1, lines[1].count == 3,
            lines[1][0] == "lifeline", let read = Int32(lines[1][1]), let write = Int32(lines[1][2])
        else { return nil }
        var workers: [Worker] = []
        for words in lines.dropFirst(2) {
            guard words.count == 7, words[0] == "worker", let slot = Int(words[1]), (0..<slots).contains(slot),
                let role = Worker.Role(rawValue: words[2]), let process = pid_t(words[3]), process > 1,
                let start = UInt64(words[4]), let memory = Int32(words[6]), memory > 2
            else { return nil }
            workers.append(
                Worker(
                    slot: slot, role: role, process: process, start: start, isPublished: words[5] == "published",
                    memory: memory))
        }
        self.init(lifeline: (read, write), workers: workers)
    }

    /// - Parameter descriptor: of memory that holds such a ``text``; owned from here on.
    init?(adopting descriptor: Int32, slots: Int) {
        guard let text = SharedMemory(adopting: descriptor).text(limit: Self.maximumBytes) else { return nil }
        self.init(text, slots: slots)
    }

    /// Whether the descriptor is not open: earlier supervisors hand on no state to a trial.
    static func isMissing(_ descriptor: Int32) -> Bool {
        fcntl(descriptor, F_GETFD) == -1 && errno == EBADF
    }

    var text: String {
        let lines = workers.map { worker in
            "worker \(worker.slot) \(worker.role.rawValue) \(worker.process) \(worker.start) "
                + (worker.isPublished ? "published" : "unpublished") + " \(worker.memory)"
        }
        return ([Self.title, "lifeline \(lifeline.read) \(lifeline.write)"] + lines).joined(separator: "\n") + "\n"
    }

    static func == (one: Self, other: Self) -> Bool {
        one.lifeline == other.lifeline && one.workers == other.workers
    }
}
