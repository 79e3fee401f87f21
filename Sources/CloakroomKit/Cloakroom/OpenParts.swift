/// The parts that were made for the user, which have to end when the user signs out.
struct OpenParts {
    var outbox: Outbox?
    var images: [ImageLoader] = []
    var renewals: [AssetRenewalManager] = []
    /// In progress.
    var signOut: SignOut?

    struct SignOut {
        let unsent: OutboxSignOut
        let shared: SharedRun<Result<OutboxSignOutReport, any Error>>
    }
}
