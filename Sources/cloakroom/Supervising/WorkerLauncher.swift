import Glibc
import CloakroomLoop

/// The other end of the workers' lifelines; copies of the reference share it.
final class SharedLifeline: Sendable {
    let lifeline: Lifeline

    init(_ lifeline: consuming Lifeline) { self.lifeline = lifeline }
}

/// How a worker is started.
@LoopActor
struct WorkerLauncher {
    let file: ProgramFile
    let lifeline: SharedLifeline
    let settingsFile: String
    /// `nil`: each worker counts for itself, or as the settings say.
    let folder: SupervisorFolder?

    func start(on address: String) throws(SystemError) -> RunningWorker {
        let (words, memory) = try MappedCounters.shared(count: WorkerMemory.count)
        var capabilities: WorkerMemory.Capabilities = .publishesSocket
        // Numbers 3, 4 and, if there is a folder, 5.
        let arguments = [
            "cloakroom", "serve", "--listen", address, "--lifeline", "3", "--heartbeat", "4", settingsFile,
        ]
        var descriptors = [lifeline.lifeline.readEnd.raw]
        let shared = folder?.descriptor
        if shared != nil { capabilities.insert(.metricsFolder) }
        words.add(capabilities.rawValue, at: WorkerMemory.capabilities)
        let process = try memory.withDescriptor { (memory) throws(SystemError) in
            descriptors.append(memory)
            if let shared { descriptors.append(shared) }
            return try ChildProcess.spawn(file.path, arguments: arguments, descriptors: descriptors)
        }
        return try RunningWorker(process: process, memory: memory)
    }
}
