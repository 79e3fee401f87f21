/// What recoveries have done so far, so that they continue after the process ended at any point.
public protocol RecoveryJournal: Sendable {
    func records() async throws -> [RecoveryRecord]
    func record(of asset: RenewableAsset) async throws -> RecoveryRecord?
    /// Puts a record in place of the asset's earlier one. It is on the disk when this returns.
    func write(_ record: RecoveryRecord) async throws
    func remove(_ asset: RenewableAsset) async throws
}
