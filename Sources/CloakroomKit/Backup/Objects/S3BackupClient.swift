package import CloakroomAWS
public import Foundation

/// A user's own objects in S3, with the credentials that the worker vends: stored, read, looked for, listed, deleted.
///
/// Every operation retries retryable failures, refreshes the credentials when they expire, and corrects
/// a wrong clock; each throws ``CloakroomError``. What is transferred at once is bounded in bytes, not in number: call as
/// much as you like at the same time. Cancelling the task ends an operation; multipart uploads and downloads continue
/// from there the next time.
public actor S3BackupClient {
    /// The bucket that the credentials are for.
    struct Access: Sendable {
        let bucket: String
        let region: String
        let source: CredentialSource
        /// What the credentials open; `nil` for the usual prefixes.
        var vended: VendedCredentials?
    }

    /// How bytes are moved.
    struct Sizes: Sendable {
        /// Of bodies in memory, altogether. A body costs about one and a half times its size on its way.
        var budget = 12 << 20
        /// A larger file becomes a multipart upload.
        var singlePut = 8 << 20
        /// Of a part, while 10,000 of them are enough; S3 accepts none below 5 MiB but the last.
        var part = 5 << 20
        /// Parts of one file that are on their way at once, while the budget allows.
        var partsAtOnce = 4
        /// The first range requested of an object that goes to a file: most photos are that small.
        var firstRange = 4 << 20
    }

    nonisolated let transport: any HTTPTransport
    nonisolated let journal: any MultipartJournal
    nonisolated let runtime: RuntimeDependencies
    nonisolated let sizes: Sizes
    nonisolated let budget: ByteBudget
    private let access: @Sendable () async throws -> Access
    /// What the server's clock shows when the device's shows 0.
    private let serverOffset: @Sendable () async -> Duration
    private let endpoint: URL?
    private var connected: (access: Access, endpoint: Endpoint, s3: S3Client)?
    /// Files that something is being written to, and keys with a multipart upload in progress.
    var busy: Set<String> = []

    /// - Parameters:
    ///   - transport: by default one for networks that cost nothing and are not in low data mode, as backups need it; on others
    ///     every call fails with ``CloakroomError/Code/notAllowedNow``. Give one that is unrestricted to what the user
    ///     waits for.
    ///   - endpoint: `nil` for AWS's own of the credentials' region; else where a store listens, such as
    ///     `http://127.0.0.1:8333`.
    ///   - journal: of multipart uploads; give one that lasts, such as ``SQLiteMultipartJournal``, for them to continue after
    ///     the app was ended.
    public init(
        credentials: CredentialProvider,
        transport: any HTTPTransport = URLSessionTransport(networkAccess: .inexpensive), endpoint: URL? = nil,
        journal: any MultipartJournal = InMemoryMultipartJournal()
    ) {
        self.init(
            credentials: credentials, transport: transport, endpoint: endpoint, journal: journal,
            runtime: RuntimeDependencies())
    }

    package init(
        credentials: CredentialProvider, transport: any HTTPTransport, endpoint: URL?, journal: any MultipartJournal,
        runtime: RuntimeDependencies
    ) {
        self.init(
            transport: transport, endpoint: endpoint, journal: journal, sizes: Sizes(), runtime: runtime,
            serverOffset: { await credentials.clockOffset }
        ) { Access(try await credentials.credentials(), credentials.source) }
    }

    /// Of objects that are only read.
    init(
        _ credentials: ReadingCredentials, transport: any HTTPTransport, endpoint: URL?, runtime: RuntimeDependencies
    ) {
        self.init(
            transport: transport, endpoint: endpoint, journal: InMemoryMultipartJournal(), sizes: Sizes(),
            runtime: runtime, serverOffset: { await credentials.clockOffset }
        ) { Access(try await credentials.credentials(), credentials.source) }
    }

    init(
        transport: any HTTPTransport, endpoint: URL?, journal: any MultipartJournal, sizes: Sizes,
        runtime: RuntimeDependencies, serverOffset: @escaping @Sendable () async -> Duration = { .zero },
        access: @escaping @Sendable () async throws -> Access
    ) {
        self.transport = transport
        self.endpoint = endpoint
        self.journal = journal
        self.sizes = sizes
        self.runtime = runtime
        self.serverOffset = serverOffset
        self.access = access
        budget = ByteBudget(capacity: sizes.budget)
    }

    /// Five attempts, for mobile networks; one attempt of a request without a file lasts half a minute at most.
    private static let retry = RetrySettings(
        transient: Backoff(base: .milliseconds(200), maximumAttempts: 5),
        throttled: Backoff(base: .seconds(1), maximumAttempts: 5), timeout: .seconds(30))

    /// The bucket, and the client for it: one for as long as the credentials are for that bucket.
    func bucket() async throws -> (name: String, s3: S3Client) {
        let access = try await access()
        if let connected, connected.access.bucket == access.bucket, connected.access.region == access.region {
            return (access.bucket, connected.s3)
        }
        let found: Endpoint
        do {
            found = try .s3(region: access.region, bucket: access.bucket, custom: endpoint?.absoluteString)
        } catch {
            throw CloakroomError(
                .invalidRequest, "no endpoint for bucket \(access.bucket) in \(access.region): \(error)")
        }
        let s3 = S3Client(
            bucket: access.bucket, endpoint: found, transport: UpstreamTransport(transport: transport),
            credentials: access.source, retry: Self.retry, runtime: runtime)
        connected = (access, found, s3)
        return (access.bucket, s3)
    }

    /// In seconds, as the credentials' vendor has shown.
    var clockOffset: Double { get async { await serverOffset() / .seconds(1) } }

    /// Where the bucket is that the credentials are for now, without a request while they are valid.
    package func location() async throws -> (endpoint: String, bucket: String) {
        try await mappingErrors("connecting") {
            let name = try await bucket().name
            return (connected?.endpoint.withoutBucket(name).url ?? "", name)
        }
    }

    /// Where this user's photos are by the credentials of now, without a request while they are valid.
    func layout(ofUser userID: String) async throws -> PhotoLayout {
        guard let vended = try await access().vended else { return try PhotoLayout(userID: userID) }
        return try PhotoLayout(vended: vended.checked(belongingTo: userID), userID: userID)
    }

    /// Runs requests to S3, and converts their failures to ``CloakroomError``.
    func performing<Value>(
        _ doing: String, _ key: String, _ body: (ObjectTarget) async throws -> Value
    ) async throws -> Value {
        guard let object = ObjectAddress(key: key) else {
            throw CloakroomError(.invalidRequest, "a key has 1 to 1,024 bytes")
        }
        return try await mappingErrors("\(doing) \(key)") {
            let (name, s3) = try await bucket()
            return try await body(ObjectTarget(bucket: name, s3: s3, key: key, object: object))
        }
    }

    func mappingErrors<Value>(_ doing: String, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as CloakroomError {
            throw error
        } catch is CancellationError {
            throw CloakroomError(.cancelled, "\(doing): cancelled")
        } catch let fault as AWSError {
            // The vendor's error has the cause.
            if fault.kind == .noCredentials { _ = try await mappingErrors(doing) { try await access() } }
            throw CloakroomError(fault, doing: doing)
        } catch {
            throw CloakroomError(.unknown, "\(doing): \(error)")
        }
    }

    /// For one request without a file, its attempts included.
    nonisolated var operationDeadline: ContinuousClock.Instant { runtime.now().advanced(by: .seconds(120)) }
}

/// The object, and the client that sends requests for it.
struct ObjectTarget: Sendable {
    let bucket: String
    let s3: S3Client
    let key: String
    let object: ObjectAddress
}

extension S3BackupClient.Access {
    init(_ vended: VendedCredentials, _ source: CredentialSource) {
        self.init(bucket: vended.bucket, region: vended.region, source: source, vended: vended)
    }
}
