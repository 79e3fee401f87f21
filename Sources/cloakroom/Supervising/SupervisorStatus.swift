import Glibc
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a supervisor tells of itself: to systemd in a line, to `cloakroom status` in a file.
struct SupervisorStatus: Equatable {
    struct Worker: Equatable {
        let listen: String
        /// The process that the address leads to; `nil`: none yet.
        let process: pid_t?
    }

    let process: pid_t
    /// Its path.
    let program: String
    /// Whether another program lies at that path than the supervisor runs.
    let isOutdated: Bool
    let workers: [Worker]

    init(process: pid_t, program: String, isOutdated: Bool, workers: [Worker]) {
        self.process = process
        self.program = program
        self.isOutdated = isOutdated
        self.workers = workers
    }

    var summary: String {
        let running = workers.count { $0.process != nil }
        return "\(running) of \(workers.count) workers run"
            + (isOutdated ? "; the supervisor runs the former program: kill -USR2 \(process)" : "")
    }

    // MARK: The file

    /// - Returns: `nil` for a file that is not one of ours.
    init?(_ text: [UInt8]) {
        guard let object = (try? JSON(parsing: text))?.object, let process = object["process"]?.integer,
            let program = object["program"]?.string, let workers = object["workers"]?.array
        else { return nil }
        self.init(
            process: pid_t(truncatingIfNeeded: process), program: program,
            isOutdated: object["outdated"] == .bool(true),
            workers: workers.compactMap { worker in
                worker.object?["listen"]?.string.map {
                    Worker(
                        listen: $0, process: worker.object?["process"]?.integer.map { pid_t(truncatingIfNeeded: $0) })
                }
            })
    }

    /// One line of JSON; a reader sees it whole or not at all. Nothing is written where the folder of another supervisor is.
    @discardableResult
    func write(in folder: SupervisorFolder) -> Bool {
        guard folder.isInPlace else { return false }
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.member("process", Int(process))
        writer.member("program", program)
        writer.plainName("outdated")
        writer.bool(isOutdated)
        writer.plainName("workers")
        writer.beginArray()
        for worker in workers {
            writer.beginObject()
            writer.member("listen", worker.listen)
            if let process = worker.process { writer.member("process", Int(process)) }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return (try? Data(writer.bytes).write(to: URL(fileURLWithPath: folder.statusFile), options: .atomic)) != nil
    }
}
