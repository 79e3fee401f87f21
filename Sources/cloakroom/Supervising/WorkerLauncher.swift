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
/// program or reload that succeeded, whatever lies on the disk meanwhile: a fault there does no harm before it is seen at a reload.
@LoopActor
final class WorkerLauncher {
    enum Start {
        /// For a reload: by the program that lies at the path now.
        case anew
        /// In place of one that has ended, and at first.
        case again
    }

    private let file: ProgramFile
    private let ownProgram: String
    private let lifeline: SharedLifeline
    private let settingsFile: String
    /// `nil`: each worker counts for itself, or as the settings say.
    private let folder: SupervisorFolder?
    /// The file's text; `nil` where that could not be kept, so that workers read the file themselves.
    private var settings: SharedMemory?
    private var settingsBefore: SharedMemory?
    /// Whether the program at the path has failed to come up since the last reload that succeeded.
    private var programFailed = false
    private let serviceStart = ProcessStart.secondsSince1970

    init(
        file: ProgramFile, ownProgram: String = ProgramFile.own, lifeline: SharedLifeline, settingsFile: String,
        folder: SupervisorFolder?
    ) {
        self.file = file
        self.ownProgram = ownProgram
        self.lifeline = lifeline
        self.settingsFile = settingsFile
        self.folder = folder
        settings = Self.kept(SettingsFile.text(of: settingsFile))
    }

    /// Has workers read these settings, for good once ``reloaded(_:)`` says so.
    ///
    /// - Parameter text: the file's.
    func takeSettings(_ text: String?) {
        settingsBefore = settings
        settings = Self.kept(text)
    }

    /// - Parameter isDone: whether all workers were replaced; otherwise the others go on with what they have, and so do those that
    ///   take their places.
    func reloaded(_ isDone: Bool) {
        programFailed = !isDone
        if !isDone, let settingsBefore { settings = settingsBefore }
        settingsBefore = nil
    }

    private static func kept(_ text: String?) -> SharedMemory? {
        guard let text, text.utf8.count <= WorkerMemory.maximumSettingsBytes else {
            return nil
        }
        return try? SharedMemory(holding: text)
    }

    func start(_ start: Start, on address: String) throws(SystemError) -> RunningWorker {
        let (words, memory) = try MappedCounters.shared(count: WorkerMemory.count)
        var capabilities: WorkerMemory.Capabilities = .publishesSocket
        // Numbers 3, 4, 5 and 6; those that nothing is to be read from are the lifeline once more.
        let arguments = [
            "cloakroom", "serve", "--listen", address, "--lifeline", "3", "--heartbeat", "4", settingsFile,
        ]
        let lifeline = lifeline.lifeline.readEnd.raw
        let shared = folder?.descriptor
        if shared != nil { capabilities.insert(.metricsFolder) }
        if settings != nil { capabilities.insert(.settings) }
        words.add(capabilities.rawValue, at: WorkerMemory.capabilities)
        words.add(UInt64(serviceStart), at: WorkerMemory.start)
        let path = start == .again && programFailed ? ownProgram : file.path
        func spawn(_ memory: Int32, _ settings: Int32) throws(SystemError) -> pid_t {
            try ChildProcess.spawn(
                path, arguments: arguments, descriptors: [lifeline, memory, shared ?? lifeline, settings])
        }
        let process = try memory.withDescriptor { (memory) throws(SystemError) in
            guard let settings else { return try spawn(memory, lifeline) }
            return try settings.withDescriptor { (settings) throws(SystemError) in try spawn(memory, settings) }
        }
        return try RunningWorker(process: process, memory: memory)
    }
}
