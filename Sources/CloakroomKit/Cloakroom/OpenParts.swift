/// The parts that were made for the user, which have to end when the user signs out.
struct OpenParts {
    var outbox: Outbox?
    var images: [ImageLoader] = []
    var renewals: [AssetRenewalManager] = []
    /// Once a sign-out has begun, for good: nothing would end what is made afterwards.
    var isSignedOut = false
    /// In progress.
    var signOut: SignOut?
    /// What a sign-out did that the next call goes on with.
    var report = OutboxSignOutReport()
    /// Whose sign-out one of its own transfers may have called.
    weak var signedOut: Outbox?

    /// - Throws: ``CloakroomError/Code/tokenUnavailable`` once a sign-out has begun.
    func requireSignedIn() throws(CloakroomError) {
        if isSignedOut { throw SignedInTokens.signedOut }
    }

    struct SignOut {
        let unsent: OutboxSignOut
        let hasCarrier: Bool
        /// Whether another call keeps what is unsent: this one is to send no more.
        var isCutShort = false
        let shared: SharedRun<Result<OutboxSignOutReport, any Error>>
    }
}
