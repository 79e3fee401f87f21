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
        /// Whether that runs another program than the supervisor.
        var runsAnother = false
        /// Whether it has the settings of a reload that failed at others, which have the former ones.
        var isOfFailedReload = false
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

    /// Whether workers are to be replaced; a supervisor with the former program is to change that first.
    var hasOtherWorkers: Bool { !isOutdated && workers.contains(where: \.runsAnother) }

    /// Whether a reload has replaced some of the workers, and failed at the others.
    var isPartlyReloaded: Bool { workers.contains(where: \.isOfFailedReload) }

    /// Whether all workers are up with the same settings, and run the installed program as the supervisor does.
    var isGood: Bool {
        !isOutdated && !hasOtherWorkers && !isPartlyReloaded && workers.allSatisfy { $0.process != nil }
    }

    var summary: String {
        let running = workers.count { $0.process != nil }
        var summary = "\(running) of \(workers.count) workers run"
        if isOutdated { summary += "; the supervisor runs the former program: kill -USR2 \(process)" }
        if hasOtherWorkers { summary += "; workers run another program than the supervisor: kill -HUP \(process)" }
        if isPartlyReloaded { summary += "; the last reload failed, and some have its settings: kill -HUP \(process)" }
        return summary
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
            workers: workers.compactMap { Worker($0) })
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
            if worker.runsAnother {
                writer.plainName("anotherProgram")
                writer.bool(true)
            }
            if worker.isOfFailedReload {
                writer.plainName("failedReload")
                writer.bool(true)
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return (try? Data(writer.bytes).write(to: URL(fileURLWithPath: folder.statusFile), options: .atomic)) != nil
    }
}

extension SupervisorStatus.Worker {
    fileprivate init?(_ json: JSON) {
        guard let listen = json.object?["listen"]?.string else { return nil }
        self.init(
            listen: listen, process: json.object?["process"]?.integer.map { pid_t(truncatingIfNeeded: $0) },
            runsAnother: json.object?["anotherProgram"] == .bool(true),
            isOfFailedReload: json.object?["failedReload"] == .bool(true))
    }
}
