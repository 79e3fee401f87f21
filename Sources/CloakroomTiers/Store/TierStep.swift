/// What is on the disk or in the tier from now on: where a test ends the process.
package enum TierStep: String, Sendable, CaseIterable {
    /// A photo has its name, and no record yet.
    case copied
    /// Its record is written.
    case imported
    case uploading, stored, verified
    case evicting, unlinked, cold
    case fetched, adopted
    case tombstoned, removed
}
