/// Where a purge is: each step is done again when the process ended in it.
package enum PurgeStep: Sendable, Hashable {
    /// What is about to be done, or done.
    package enum Moment: Sendable, Hashable, CaseIterable { case before, after }

    /// The messages of a batch are in the journal.
    case journaled(Moment)
    /// The app has removed what it has of them: notifications, entries of the search, drafts.
    case handled(Moment)
    case recoveriesRemoved(Moment)
    /// Their files, and what is cached of their images.
    case filesRemoved(Moment)
    /// Images that the bucket is to delete are recorded.
    case releasesJournaled(Moment)
    /// Their rows are gone; what they are known by stays.
    case rowsRemoved(Moment)
    case keysRotated(Moment)
    /// The log of the database is empty.
    case checkpointed(Moment)
    case closed(Moment)

    /// In the order of a purge.
    package static let all: [PurgeStep] = Moment.allCases.flatMap { moment in
        [
            .journaled(moment), .handled(moment), .recoveriesRemoved(moment), .filesRemoved(moment),
            .releasesJournaled(moment), .rowsRemoved(moment), .keysRotated(moment), .checkpointed(moment),
            .closed(moment),
        ]
    }
}
