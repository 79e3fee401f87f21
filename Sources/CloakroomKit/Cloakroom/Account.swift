import Foundation

/// What a user has with the worker, whatever the app does with it.
struct Account {
    let owner: StoreOwner
    let folder: URL
    let client: CloakroomClient
    let credentials: CredentialProvider
    /// `nil` without a scope that only reads.
    let reading: ReadingCredentials?
    let tokens: SignedInTokens
    private let user: String
    private let userFolder: UserFolder
    private let onStoreFailure: @Sendable (CloakroomError) -> Void

    init(_ configuration: Cloakroom.Configuration, user: String, tokens: any TokenProvider) throws {
        // A name that no user has becomes no folder.
        self.user = try PhotoLayout(userID: user).userID
        owner = StoreOwner(user: user, endpoint: configuration.endpoint)
        userFolder = UserFolder(of: owner, in: configuration.folder)
        folder = userFolder.url
        onStoreFailure = configuration.onStoreFailure
        self.tokens = SignedInTokens(tokens, userID: user)
        client = CloakroomClient(
            endpoint: configuration.endpoint, tokenHeader: configuration.tokenHeader, tokens: self.tokens,
            transport: configuration.transport, retryPolicy: configuration.retryPolicy, runtime: configuration.runtime)
        credentials = CredentialProvider(
            vendor: client, store: configuration.credentialStore(owner, folder), onStoreFailure: onStoreFailure,
            serverClock: client.serverClock, userID: user, runtime: configuration.runtime)
        reading = configuration.readScope.map { [client, credentials] scope in
            ReadingCredentials(
                usual: credentials,
                readOnly: CredentialProvider(
                    vendor: ScopedVendor(client, scope: scope), serverClock: client.serverClock, userID: user,
                    runtime: configuration.runtime), runtime: configuration.runtime)
        }
        _ = try unlessFull { try userFolder.make() }
    }

    /// Opens a file in the user's folder.
    ///
    /// - Returns: `nil` on a full disk, which is reported.
    func open<Part>(_ name: String, _ part: (_ file: URL) throws -> Part) throws -> Part? {
        try unlessFull {
            try userFolder.make()
            return try part(folder.appendingPathComponent(name))
        }
    }

    /// Opens a file of records in the user's folder; on a full disk, which is reported, they are kept in memory.
    func openRecords<Part>(_ name: String, _ part: (_ file: URL) throws -> Part) throws -> Part {
        try open(name, part) ?? part(RecordsFile.inMemory)
    }

    private func unlessFull<Part>(_ make: () throws -> Part) throws -> Part? {
        do { return try make() } catch let error as CloakroomError where error.code == .diskFull {
            onStoreFailure(error)
            return nil
        }
    }

    /// By the credentials, or as it was the last time, where the worker cannot be reached now, or vends none while the user has
    /// stored too much or has not paid: what is queued and renewed goes on. A user who has stored too much sees the photos on a new
    /// device, too, by credentials that only read.
    func layout() async throws -> PhotoLayout {
        let record = RecordedLayout(in: folder, userID: user)
        let vended: VendedCredentials
        do throws(CloakroomError) {
            vended = try await credentials.credentials()
        } catch {
            let goesOn = error.isRetryable || [.storageQuotaExceeded, .subscriptionRequired].contains(error.code)
            if goesOn, let layout = record.read() { return layout }
            guard error.code == .storageQuotaExceeded, let reading else { throw error }
            vended = try await reading.credentials()
        }
        let layout = try PhotoLayout(vended: vended.checked(belongingTo: user), userID: user)
        record.record(vended)
        return layout
    }
}
