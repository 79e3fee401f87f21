public import Foundation

extension TransferProgress {
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
