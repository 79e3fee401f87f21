/// The memory that a supervisor shares with one of its workers: two words.
///
/// Supervisor and worker may be of two versions. One that knows only the first word maps no more than that; the second
/// reads 0 where nothing wrote it.
enum WorkerMemory {
    static let count = 2
    /// Added to as long as the worker's loop turns; 0 until the worker is up.
    static let beats = 0
    /// ``Capabilities``, written by the supervisor before the worker starts.
    static let capabilities = 1

    /// What the supervisor does for the worker.
    struct Capabilities: OptionSet, Sendable {
        let rawValue: UInt64

        /// It gives the worker's socket its path, once the worker is up.
        static let publishesSocket = Capabilities(rawValue: 1)
        /// It passes a folder for the counters of all its workers, as ``metricsFolderDescriptor``.
        static let metricsFolder = Capabilities(rawValue: 2)
    }

    static let metricsFolderDescriptor: Int32 = 5
}
