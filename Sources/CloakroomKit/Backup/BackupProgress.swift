public import Foundation

/// How far a backup or a restore is.
public struct BackupProgress: Sendable, Equatable {
    /// Attempted, whatever the result.
    public internal(set) var filesDone = 0
    public internal(set) var filesTotal: Int
    /// Of files that are done, and of large ones under way what has moved.
    public internal(set) var bytesDone: Int64 = 0
    public internal(set) var bytesTotal: Int64
    /// What was begun or done last.
    public internal(set) var current: URL?

    init(filesTotal: Int, bytesTotal: Int64) {
        self.filesTotal = filesTotal
        self.bytesTotal = bytesTotal
    }

    /// From 0 to 1.
    public var fraction: Double { bytesTotal == 0 ? 1 : min(1, Double(bytesDone) / Double(bytesTotal)) }

    /// Called with the progress, from any thread.
    public typealias Observer = @Sendable (BackupProgress) -> Void

    /// A sequence to watch by: give `observer` to the backup, and iterate over `values`, which ends with the last file, or
    /// when the observer is released, as after a run that ended early. Values not yet read are replaced by newer ones.
    public static func stream() -> (values: AsyncStream<BackupProgress>, observer: Observer) {
        progressStream { $0.filesDone >= $0.filesTotal }
    }

    /// Updates a `Progress`, such as one that a view shows.
    ///
    /// - Parameter progress: its unit counts become bytes.
    public static func observer(updating progress: Progress) -> Observer {
        { value in
            progress.totalUnitCount = value.bytesTotal
            progress.completedUnitCount = value.bytesDone
        }
    }
}
