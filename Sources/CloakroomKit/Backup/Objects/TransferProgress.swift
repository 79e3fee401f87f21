public import Foundation

/// How far a transfer is.
public struct TransferProgress: Sendable, Equatable {
    /// Of the object's bytes; those of an earlier run that it continues are counted.
    public let bytesDone: Int64
    public let bytesTotal: Int64

    public init(bytesDone: Int64, bytesTotal: Int64) {
        self.bytesDone = bytesDone
        self.bytesTotal = bytesTotal
    }

    /// From 0 to 1.
    public var fraction: Double { bytesTotal == 0 ? 1 : Double(bytesDone) / Double(bytesTotal) }

    /// Called with the progress of a transfer, from any thread. After a failed attempt it may be less than before; the
    /// total is reported once, at the end.
    public typealias Observer = @Sendable (TransferProgress) -> Void

    /// A sequence to watch a transfer by: give `observer` to the transfer, and iterate over `values`, which ends with
    /// the transfer's last byte, or when the observer is released, as after a transfer that failed. Values not yet read
    /// are replaced by newer ones.
    public static func stream() -> (values: AsyncStream<TransferProgress>, observer: Observer) {
        progressStream { $0.bytesDone >= $0.bytesTotal }
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
