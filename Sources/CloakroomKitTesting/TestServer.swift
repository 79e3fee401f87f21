package import CloakroomAWS
public import CloakroomKit
public import Foundation

/// A worker and a bucket in memory, with which an app's tests run without a network and without waiting.
///
/// ```swift
/// let server = TestServer()
/// let cloakroom = try Cloakroom(
///     configuration: server.configuration(folder: folder), user: "u_1", tokens: server.tokens(forUser: "u_1"))
/// server.fail(.putObject, with: .connectionLostAfter)
/// let report = await cloakroom.backup.backUp([photo])
/// // report.failures is empty, and server.objects() has the photo once.
/// ```
///
/// It speaks what the worker and S3 speak, as far as the kit uses it. Its clock stands still: it advances by
/// ``advance(by:)``, by ``TestFault/delay(_:)`` and by the pauses between the kit's attempts, which take no time. Deadlines,
/// and waits with nothing to do, as of `Outbox.keepSending()`, end when it has advanced that far. Signatures are not
/// recomputed; credentials, their ends and what they open are checked.
///
/// Servers share nothing, so that tests can run at the same time. All of it may be called from any thread.
public final class TestServer: Sendable {
    /// What differs from one operator to the next.
    public struct Options: Sendable {
        /// What the clock shows at first. Files that were just written are newer than a date in the past, and a backup leaves
        /// them for its next run.
        public var date = Date().addingTimeInterval(3600)
        public var credentialsLifetime = Duration.seconds(3600)
        public var sessionLifetime = Duration.seconds(86_400)
        public var uploadURLLifetime = Duration.seconds(900)
        /// After which assets that were not renewed are deleted.
        public var assetRetention = Duration.seconds(30 * 86_400)
        /// The most objects in a page of a listing, 1 to 1000.
        public var pageSize = 1000
        public var bucket = "photos"
        public var region = "us-east-1"

        public init() {}
    }

    public let options: Options
    /// Of the worker; reached by ``transport`` only.
    public let endpoint = TestServer.url("https://worker.cloakroom.test")
    /// Of the bucket; reached by ``transport`` only.
    public let s3Endpoint = TestServer.url("https://s3.cloakroom.test")
    /// Where assets are read without credentials; reached by ``transport`` only.
    public let assetBaseURL = TestServer.url("https://cdn.cloakroom.test")

    let clock: TestClock
    let state: Locked<ServerState>

    public init(options: Options = Options()) {
        self.options = options
        clock = TestClock(options.date)
        state = Locked(ServerState(options: options, clock: clock, endpoint: s3Endpoint, assetBaseURL: assetBaseURL))
    }

    /// Leads to this server, and nowhere else: other hosts are unreachable.
    public var transport: any HTTPTransport { TestTransport(server: self) }

    /// For a ``Cloakroom`` that uses this server alone, and its clock.
    ///
    /// - Parameter folder: for the app's files; give each test its own.
    public func configuration(folder: URL) -> Cloakroom.Configuration {
        var configuration = Cloakroom.Configuration(
            endpoint: endpoint, transport: transport, backgroundTransport: transport)
        configuration.folder = folder
        configuration.cacheFolder = folder.appendingPathComponent("Caches")
        configuration.s3Endpoint = s3Endpoint
        configuration.assetBaseURLs = [assetBaseURL]
        configuration.assetRetention = options.assetRetention
        configuration.runtime = runtime
        return configuration
    }

    /// The clock, and background work that is not waited for.
    package var runtime: RuntimeDependencies { clock.runtime }

    private static func url(_ text: StaticString) -> URL {
        guard let url = URL(string: "\(text)") else { preconditionFailure("no URL: \(text)") }
        return url
    }
}

// MARK: Clock

extension TestServer {
    /// What the clock shows.
    public var date: Date { clock.date }

    /// Lets time pass at once: credentials, sessions, upload URLs and deadlines end, and assets expire.
    public func advance(by duration: Duration) { clock.advance(by: duration) }
}

// MARK: Users

extension TestServer {
    /// A token of a user, as the app's own backend would give it; it has no end.
    ///
    /// - Parameter user: 1 to 64 of `A–Z a–z 0–9 _ -`.
    public func token(forUser user: String) -> String { state.withLock { $0.issueToken(to: user) } }

    /// The same as a provider that gives another token after a refusal.
    public func tokens(forUser user: String) -> any TokenProvider { UserTokens(server: self, user: user) }

    /// What a user signs in with, once; as Sign in with Apple would give it.
    public func identity(forUser user: String) -> SignInIdentity {
        SignInIdentity(token: state.withLock { $0.issueIdentityToken(to: user) })
    }

    /// A session provider that uses this server and its clock.
    ///
    /// - Parameter identity: as for ``SessionTokenProvider``.
    public func sessionTokens(
        store: (any CredentialStore)? = nil, identity: SessionTokenProvider.IdentitySource? = nil
    ) -> SessionTokenProvider {
        SessionTokenProvider(
            endpoint: endpoint, transport: transport, store: store, runtime: runtime, identity: identity)
    }

    /// Whether the user's storage is used up: no upload is presigned, and no credentials are vended but those of the scope `read`.
    /// Credentials that are out stay valid.
    public func setStorageIsFull(_ isFull: Bool, forUser user: String) {
        state.withLock { state in
            if isFull { state.fullUsers.insert(user) } else { state.fullUsers.remove(user) }
        }
    }

    /// Ends all sessions and tokens that the user has now, as the operator can.
    public func revokeSessions(ofUser user: String) { state.withLock { $0.revokeSessions(of: user) } }
}

private actor UserTokens: TokenProvider {
    private let server: TestServer
    private let user: String
    private var current: String?

    init(server: TestServer, user: String) {
        self.server = server
        self.user = user
    }

    /// - Throws: ``CloakroomError/Code/storeOwnerMismatch`` for another user.
    func token(ofUser userID: String) throws -> String {
        guard userID == user else { throw CloakroomError(.storeOwnerMismatch, "Another user is signed in") }
        return token()
    }

    func token() -> String {
        let token = current ?? server.token(forUser: user)
        current = token
        return token
    }

    func tokenRefused(_ token: String) { if token == current { current = nil } }
}
