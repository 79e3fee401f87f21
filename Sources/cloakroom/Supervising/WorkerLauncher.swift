import CloakroomLoop
import Glibc

/// The other end of the workers' lifelines; copies of the reference share it.
final class SharedLifeline: Sendable {
    let lifeline: Lifeline

    init(_ lifeline: consuming Lifeline) { self.lifeline = lifeline }
}

/// How a worker is started.
///
/// One that replaces a worker which has ended by itself has the program and the settings of the last start, change of the
/// program or reload that succeeded, with the files that they name, whatever lies on the disk meanwhile: a fault there
/// does no harm before it is seen at a reload, and a new secret or template takes effect in no worker before.
/// During a reload this holds for each address until the reload has given it a new worker.
@LoopActor
final class WorkerLauncher {
    /// What workers are started with.
    private struct Version {
        let program: WorkerProgram
        /// See ``SettingsFiles/memory``.
        let settings: SharedMemory?
    }

    enum Start {
        /// For a reload: with what it found on the disk when it began.
        case anew
        /// In place of one that has ended, and at first.
        case again
    }

    private let file: ProgramFile
    private let lifeline: SharedLifeline
    private let settingsFile: String
    /// `nil`: each worker counts for itself, or as the settings say.
    private let folder: SupervisorFolder?
    /// Of the last start, change of the program or reload that succeeded.
    private var accepted: Version
    /// Of the reload that is under way.
    private var candidate: Version?
    /// The addresses at which a worker of the candidate has taken over.
    private var reloadedAddresses: Set<String> = []
    private let serviceStart = ProcessStart.secondsSince1970

    /// - Parameter settings: see ``SettingsFiles/memory``.
    init(
        file: ProgramFile, ownProgram: String = ProgramFile.own, lifeline: SharedLifeline, settingsFile: String,
        settings: SharedMemory?, folder: SupervisorFolder?
    ) {
        self.file = file
        self.lifeline = lifeline
        self.settingsFile = settingsFile
        self.folder = folder
        accepted = Version(program: WorkerProgram(path: file.path, source: ownProgram), settings: settings)
    }

    /// Has workers that are started anew run the program that lies at the path now, and read these settings; all others do
    /// once ``endReload(isDone:)`` says so.
    ///
    /// - Parameter settings: see ``SettingsFiles/memory``.
    func beginReload(settings: SharedMemory?) {
        candidate = Version(program: WorkerProgram(path: file.path, source: file.path), settings: settings)
        reloadedAddresses = []
    }

    /// Has workers that follow the one at this address get what it has, as long as the reload is under way.
    func hasReloaded(_ address: String) { reloadedAddresses.insert(address) }

    /// - Parameter isDone: whether all workers were replaced; otherwise the others go on with what they have, and so do those that
    ///   take their places.
    func endReload(isDone: Bool) {
        if isDone, let candidate { accepted = candidate }
        candidate = nil
    }

    private func version(for start: Start, on address: String) -> Version {
        guard let candidate, start == .anew || reloadedAddresses.contains(address) else { return accepted }
        return candidate
    }

    func start(_ start: Start, on address: String) throws(SystemError) -> RunningWorker {
        let version = version(for: start, on: address)
        let (words, memory) = try MappedCounters.shared(count: WorkerMemory.count)
        var capabilities: WorkerMemory.Capabilities = .publishesSocket
        // Numbers 3, 4, 5 and 6; those that nothing is to be read from are the lifeline once more. 7 may be the program.
        let arguments = [
            "cloakroom", "serve", "--listen", address, "--lifeline", "3", "--heartbeat", "4", settingsFile,
        ]
        let lifeline = lifeline.lifeline.readEnd.raw
        let shared = folder?.descriptor
        if shared != nil { capabilities.insert(.metricsFolder) }
        if version.settings != nil { capabilities.insert(.settingsFiles) }
        words.add(capabilities.rawValue, at: WorkerMemory.capabilities)
        words.add(UInt64(serviceStart), at: WorkerMemory.start)
        func spawn(_ memory: Int32, _ settings: Int32) throws(SystemError) -> pid_t {
            try version.program.spawn(arguments, descriptors: [lifeline, memory, shared ?? lifeline, settings])
        }
        let process = try memory.withDescriptor { (memory) throws(SystemError) in
            guard let settings = version.settings else { return try spawn(memory, lifeline) }
            return try settings.withDescriptor { (settings) throws(SystemError) in try spawn(memory, settings) }
        }
        return try RunningWorker(process: process, memory: memory)
    }
}
