/// The memory that a supervisor shares with one of its workers: a row of words.
///
/// Supervisor and worker may be of two versions. One that knows only the first words maps no more than those; the others
/// read 0 where nothing wrote them.
enum WorkerMemory {
    static let count = 9
    /// Added to as long as the worker's loop turns; 0 until the worker is up.
    static let beats = 0
    /// ``Capabilities``, written by the supervisor before the worker starts.
    static let capabilities = 1
    /// How long the supervisor is to wait for a beat, and for a worker that stops: milliseconds, written by the worker
    /// before its first beat. They are of the settings that this worker read; the supervisor may know others.
    static let hungAfter = 2
    static let drain = 3
    /// 1 while the worker is not ready, as its `/readyz` says, 2 while it is; 0 for a worker that does not tell.
    static let readiness = 4
    /// When the service was started, in seconds since 1970; written by the supervisor before the worker starts.
    static let start = 5
    /// Of the file that the worker runs, written by the worker before its first beat; 0 for a worker that does not tell. No other
    /// file has both as long as it runs.
    static let programDevice = 6
    static let programNumber = 7
    /// Not 0 where a reload failed, ``failedReload`` or more where the worker has that reload's settings and others do not; also
    /// for the program that takes the supervisor's place. Not in ``SupervisorState``, where earlier versions read no more than they know.
    static let reloadDue = 8
    /// Supervisors of earlier versions add 1 for each reload that failed.
    static let failedReload: UInt64 = 1 << 32

    /// What the supervisor does for the worker.
    struct Capabilities: OptionSet, Sendable {
        let rawValue: UInt64

        /// It gives the worker's socket its path, once the worker is up.
        static let publishesSocket = Capabilities(rawValue: 1)
        /// It passes a folder for the counters of all its workers, as ``metricsFolderDescriptor``.
        static let metricsFolder = Capabilities(rawValue: 2)
        /// It is of an earlier version: it passes the text of the settings file alone, as ``settingsDescriptor``.
        static let settingsText = Capabilities(rawValue: 4)
        /// It passes the ``SettingsFiles``, as ``settingsDescriptor``. A worker of an earlier version reads the disk.
        static let settingsFiles = Capabilities(rawValue: 8)
    }

    static let metricsFolderDescriptor: Int32 = 5
    static let settingsDescriptor: Int32 = 6
    /// Of the ``SettingsFiles/text``: files of about 3 MB together.
    static let maximumSettingsBytes = 4 << 20
}
