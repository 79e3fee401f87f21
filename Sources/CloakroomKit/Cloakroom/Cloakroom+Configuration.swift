package import CloakroomAWS
public import Foundation

extension Cloakroom {
    /// What an app knows of its worker and bucket, the same for all users.
    public struct Configuration: Sendable {
        /// Of the worker: `https://host`, with a path where it has one; HTTP is for a developer's own machine.
        public var endpoint: URL
        /// The worker's scope (`vending.scopes`) that only reads, by which photos are shown and restored while the user's storage is
        /// used up and the worker vends no credentials that write; `nil` for a worker without one.
        public var readScope: String? = "read"
        /// How the worker wants the token.
        public var tokenHeader = TokenHeader.bearer
        /// Where images are read that others see, such as `https://cdn.example.com`; none for an app without such images.
        public var assetBaseURLs: [URL] = []
        /// How long the bucket keeps assets that are not renewed; 30 days, unless its lifecycle rule was changed.
        public var assetRetention = Duration.seconds(30 * 86_400)
        /// Where S3 is; `nil` for AWS.
        public var s3Endpoint: URL?
        /// In it each user of each endpoint has a folder of their own, which is in no backup of the device, and the queues of
        /// uploads are beside these: photos that are unsent are in backups. `Cloakroom` in *Application Support*, unless set.
        public var folder: URL
        /// Of images that are shown, for all users: `Cloakroom` in *Caches*, unless set.
        public var cacheFolder: URL
        /// Where credentials are kept, for each user; the folder is the user's own. Unless set, `KeychainCredentialStore` on Apple's
        /// systems, with no access group, and ``SealedFileCredentialStore`` elsewhere.
        public var credentialStore: @Sendable (_ owner: StoreOwner, _ folder: URL) -> any CredentialStore
        /// Called when credentials could not be read or kept, and on a full disk with ``CloakroomError/Code/diskFull`` for each file that
        /// could not be opened: what it is for goes on in memory until the next launch.
        public var onStoreFailure: @Sendable (CloakroomError) -> Void = { _ in }
        /// For what the user waits for; all parts share its connections.
        public var transport: any HTTPTransport
        /// For backups: networks that cost nothing, unless set; see ``NetworkAccess``. The `requirements` of
        /// ``Cloakroom/backup(of:named:conditions:requirements:)`` say the same of exports.
        public var backgroundTransport: any HTTPTransport
        /// Of ``Cloakroom/backup``, such as for how long a file that is unchanged counts as stored without a look into S3.
        public var backupOptions = PhotoBackup.Options()
        public var retryPolicy = RetryPolicy()
        /// The device's clock and tasks; tests of apps have `TestServer` replace them.
        package var runtime = RuntimeDependencies()

        public init(
            endpoint: URL, transport: any HTTPTransport = URLSessionTransport(),
            backgroundTransport: any HTTPTransport = URLSessionTransport(networkAccess: .inexpensive)
        ) {
            self.endpoint = endpoint
            self.transport = transport
            self.backgroundTransport = backgroundTransport
            folder = Self.folder(in: .applicationSupportDirectory)
            cacheFolder = Self.folder(in: .cachesDirectory)
            credentialStore = { Self.credentialStore(of: $0, in: $1) }
        }

        private static func credentialStore(of owner: StoreOwner, in folder: URL) -> any CredentialStore {
            #if canImport(Security)
                KeychainCredentialStore(owner: owner)
            #else
                SealedFileCredentialStore(folder: folder.appendingPathComponent("credentials"), owner: owner)
            #endif
        }

        private static func folder(in directory: FileManager.SearchPathDirectory) -> URL {
            let folders = FileManager.default.urls(for: directory, in: .userDomainMask)
            return (folders.first ?? URL(fileURLWithPath: NSHomeDirectory(), isDirectory: true))
                .appendingPathComponent("Cloakroom", isDirectory: true)
        }
    }
}
