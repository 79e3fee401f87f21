import CloakroomAWS
import CloakroomKit
import Foundation

/// The kit as an app has it, before one stack.
struct Kit {
    let endpoint: URL
    let transport = URLSessionTransport()
    let client: CloakroomClient
    /// The bucket itself, where its objects are read.
    let bucket: URL
    let baseURLs: AssetBaseURLs
    private let s3: URL
    /// Of its records.
    var owner: StoreOwner { StoreOwner(user: "u_1", endpoint: endpoint) }

    /// - Parameter s3: where it listens; `nil`: the suite's SeaweedFS.
    init(_ stack: Stack, token: String = Tokens.fresh(), s3: String? = nil, retryPolicy: RetryPolicy = RetryPolicy())
        throws
    {
        guard let nginx = stack.nginx else { throw MissingProgramError(description: "this stack has no nginx") }
        endpoint = try Self.url("http://127.0.0.1:\(nginx.port)")
        self.s3 = try Self.url(try s3 ?? EndToEnd.s3().url)
        bucket = self.s3.appendingPathComponent(SeaweedFS.bucket)
        baseURLs = try AssetBaseURLs([bucket])
        client = CloakroomClient(endpoint: endpoint, transport: transport, retryPolicy: retryPolicy) { token }
    }

    /// - Returns: with credentials of its own, which are kept to be searched for in the logs.
    func backups() async throws -> S3BackupClient {
        try await backups(with: CloakroomKit.CredentialProvider(vendor: client))
    }

    /// - Returns: with credentials of 900 s, by clocks of which only those who look after them know.
    func backups(by leaps: LeapingClock, token: String) async throws -> S3BackupClient {
        let client = CloakroomClient(
            endpoint: endpoint, tokens: OneToken(text: token), transport: transport, runtime: leaps.runtime)
        return try await backups(
            with: CloakroomKit.CredentialProvider(
                vendor: ShortLived(client: client), serverClock: client.serverClock, runtime: leaps.runtime))
    }

    private func backups(with provider: CloakroomKit.CredentialProvider) async throws -> S3BackupClient {
        let vended = try await provider.credentials()
        Secrets.keep(vended.revealSecretAccessKey())
        Secrets.keep(vended.revealSessionToken())
        return S3BackupClient(credentials: provider, transport: transport, endpoint: s3)
    }

    func groupImage(_ key: String, in conversation: String = "c") -> RenewableAsset {
        .groupImage(url: bucket.appendingPathComponent(key), conversationID: conversation)
    }

    static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw MissingProgramError(description: "no URL: \(text)") }
        return url
    }
}

private struct OneToken: TokenProvider {
    let text: String

    func token() -> String { text }
    func token(ofUser userID: String) -> String { text }
}

/// As short as AWS lets them be.
private struct ShortLived: CredentialVendor {
    let client: CloakroomClient

    func vendCredentials() async throws -> VendedCredentials {
        try await client.vendCredentials(scope: nil, lifetime: .seconds(900))
    }
}

/// - Returns: the error that the kit threw; `nil` when it threw none.
func cloakroomError(_ body: () async throws -> Void) async throws -> CloakroomError? {
    do {
        try await body()
        return nil
    } catch let error as CloakroomError {
        return error
    }
}

/// The kit's clocks, in a world where time leaps when the test says so.
final class LeapingClock: Sendable {
    private let count = Counter()
    private let seconds: Int

    init(of seconds: Int) { self.seconds = seconds }

    /// 25 hours: another day wherever the test runs.
    static var days: LeapingClock { LeapingClock(of: 90_000) }

    func pass() { count.next() }

    var runtime: RuntimeDependencies {
        let passed = { @Sendable [count, seconds] in count.value * seconds }
        return RuntimeDependencies(
            wallClock: { Date(timeIntervalSinceNow: Double(passed())) },
            now: { ContinuousClock.now.advanced(by: .seconds(passed())) })
    }
}
