import Foundation

/// What a user has with the worker, whatever the app does with it.
struct Account {
    let owner: StoreOwner
    let folder: URL
    let client: CloakroomClient
    let credentials: CredentialProvider
    let tokens: SignedInTokens
    private let user: String

    init(_ configuration: Cloakroom.Configuration, user: String, tokens: any TokenProvider) throws {
        // A name that no user has becomes no folder.
        self.user = try PhotoLayout(userID: user).userID
        owner = StoreOwner(user: user, endpoint: configuration.endpoint)
        let userFolder = UserFolder(of: owner, in: configuration.folder)
        try userFolder.make()
        folder = userFolder.url
        self.tokens = SignedInTokens(tokens, userID: user)
        client = CloakroomClient(
            endpoint: configuration.endpoint, tokenHeader: configuration.tokenHeader, tokens: self.tokens,
            transport: configuration.transport, retryPolicy: configuration.retryPolicy, runtime: configuration.runtime)
        credentials = CredentialProvider(
            vendor: client, store: Self.credentialStore(of: owner, in: folder), serverClock: client.serverClock,
            userID: user, runtime: configuration.runtime)
    }

    /// By the credentials, or as it was the last time, where the worker cannot be reached now.
    func layout() async throws -> PhotoLayout {
        let record = RecordedLayout(in: folder, userID: user)
        let vended: VendedCredentials
        do throws(CloakroomError) {
            vended = try await credentials.credentials()
        } catch {
            guard error.isRetryable, let layout = record.read() else { throw error }
            return layout
        }
        let layout = try PhotoLayout(vended: vended.checked(belongingTo: user), userID: user)
        record.record(vended)
        return layout
    }

    private static func credentialStore(of owner: StoreOwner, in folder: URL) -> any CredentialStore {
        #if canImport(Security)
            KeychainCredentialStore(owner: owner)
        #else
            SealedFileCredentialStore(folder: folder.appendingPathComponent("credentials"), owner: owner)
        #endif
    }
}
