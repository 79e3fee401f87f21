public import CloakroomKit

/// What came of emptying a ``LegacyBlobSource``, also when it stopped early: the next call goes on from there.
public struct MigrationReport: Sendable, Equatable {
    /// Photos that are in the store and no longer in the source.
    public var imported = 0
    public var importedBytes: Int64 = 0
    /// Photos whose file left the device meanwhile.
    public var evicted = 0
    public var evictedBytes: Int64 = 0
    /// Rows that are still in the source.
    public var remaining = 0
    /// Rows that stay there for a reason of their own, such as that they have no bytes.
    public var failureCount = 0
    /// The first 100 of these.
    public var failures: [Failure] = []
    /// Why it ended early; `nil` when it came to the end.
    public var stoppedBy: CloakroomError?
    /// The source has not given back the room of what was removed from it. The next call does, as soon as there is room
    /// for doing so.
    public var isCompactionPending = false

    public struct Failure: Sendable, Equatable {
        /// `nil` when the row has none.
        public var name: String?
        public var error: CloakroomError

        public init(name: String?, error: CloakroomError) {
            self.name = name
            self.error = error
        }
    }

    public init() {}

    mutating func fail(_ blob: LegacyBlob, _ error: CloakroomError) {
        failureCount += 1
        if failures.count < 100 { failures.append(Failure(name: blob.name, error: error)) }
    }
}
