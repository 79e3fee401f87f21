import CloakroomAWS
import CloakroomCurl
import CloakroomHTTP
import CloakroomLoop
import CloakroomServer

/// STS and S3 as the settings describe them, on one transport.
@LoopActor
struct Upstreams {
    let sts: STSClient
    let s3: S3Client
    /// For the command that revokes; a worker never uses it.
    let iam: IAMClient
    let bucketURL: String
    private let transport: LoopCurlTransport
    private let stsEndpoint: Endpoint
    private let probeKey: String
    /// `nil`: keys of the settings, which are always there.
    private let refreshing: RefreshingCredentials?
    private static let probeTimeout: Duration = .seconds(3)

    /// - Parameters:
    ///   - bucket: `nil` for that of the settings.
    ///   - renewal: `nil` for that of the settings.
    ///   - copyLimiter: told of every attempt at S3.
    ///   - log: `nil` for commands that speak for themselves.
    ///   - maximumResponseBytes: `nil` for what responses to a worker need at most.
    init(
        settings: Settings, bucket name: String? = nil, renewal: RenewalSettings? = nil, metrics: Metrics,
        copyLimiter: CopyConcurrencyLimiter? = nil, log: Log? = nil, maximumResponseBytes: Int? = nil
    ) throws(EndpointError) {
        var options = LoopCurlTransport.Options()
        options.certificateAuthorities = settings.aws.certificateAuthorities
        if let maximumResponseBytes { options.maximumResponseBytes = maximumResponseBytes }
        transport = LoopCurlTransport(options: options)
        let retry = RetrySettings(maximumAttempts: settings.aws.maximumAttempts, timeout: settings.aws.timeout)
        let runtime = RuntimeDependencies(
            sleep: { try await LoopActor.sleep(for: $0) }, spawn: { body in LoopActor.spawn { await body() } })
        let credentials: CredentialSource
        if let keys = settings.aws.keys {
            refreshing = nil
            credentials = CredentialSource(keys)
        } else {
            let report = CredentialReport(
                log: log ?? Log(sink: nil, level: .error), lifetime: settings.vending.lifetime)
            let chain = AWSCredentials.chain(settings.aws, transport: transport, runtime: runtime)
            let source = RefreshingCredentials(chain, runtime: runtime) { event in
                LoopActor.assumeIsolated { report.take(event) }
            }
            refreshing = source
            credentials = CredentialSource(source)
        }
        stsEndpoint = settings.aws.sts
        // Among what is renewed: the worker may have no right to read anything else.
        probeKey = settings.renewal.keyPrefix + S3Client.missingObjectName
        let bucket =
            try name.map { name throws(EndpointError) in try settings.aws.buckets.endpoint(of: name) }
            ?? settings.aws.s3
        bucketURL = bucket.url
        let observe: @Sendable (Attempt) -> Void = { attempt in
            LoopActor.assumeIsolated {
                metrics.attempted(attempt)
                copyLimiter?.observe(attempt)
            }
        }
        sts = STSClient(
            endpoint: stsEndpoint, transport: transport, credentials: credentials, retry: retry,
            runtime: runtime, isolation: LoopActor.shared, onAttempt: observe)
        iam = IAMClient(
            endpoint: try .iam(region: settings.region, custom: settings.aws.iamEndpoint), transport: transport,
            credentials: credentials, retry: retry, runtime: runtime, isolation: LoopActor.shared)
        s3 = S3Client(
            bucket: name ?? settings.bucket, endpoint: bucket, transport: transport, credentials: credentials,
            renewal: renewal ?? RenewalSettings(settings.renewal), retry: retry, runtime: runtime,
            isolation: LoopActor.shared, onAttempt: observe)
    }

    /// One page of a listing.
    func page(_ prefix: String, _ position: S3Client.ListPosition) async -> Result<ObjectPage, AWSError> {
        do throws(AWSError) {
            return .success(try await s3.list(prefix: prefix, from: position, deadline: .now + .seconds(60)))
        } catch {
            return .failure(error)
        }
    }

    /// For commands that would do nothing without them.
    func requireCredentials() async throws(CredentialChainError) { _ = try await refreshing?.current() }

    /// For readiness.
    var probes: [(name: String, probe: Readiness.Probe)] {
        let upstreams: [(name: String, probe: Readiness.Probe)] = [
            ("sts", { await probeSTS() }), ("s3", { await probeS3() }),
        ]
        guard let refreshing else { return upstreams }
        let credentials: Readiness.Probe = { await Self.probe(refreshing) }
        return [("credentials", credentials)] + upstreams
    }

    /// Gets credentials when there are none yet, and anew when they are due.
    private static func probe(_ credentials: RefreshingCredentials) async -> String? {
        do throws(CredentialChainError) {
            _ = try await credentials.current()
            return nil
        } catch {
            return error.summary
        }
    }

    /// Whether STS's endpoint responds, with any status.
    private func probeSTS() async -> String? {
        do {
            _ = try await transport.send(
                UpstreamRequest(method: "GET", url: stsEndpoint.url + "/"), timeout: Self.probeTimeout)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// The key of no object: S3 says `NoSuchKey` only to those who may list, and only they learn what is gone.
    private func probeS3() async -> String? {
        guard let object = ObjectAddress(key: probeKey) else { return nil }
        do {
            _ = try await s3.exists(object, deadline: .now + Self.probeTimeout)
            return nil
        } catch {
            return error.status == 403
                ? "S3 answers 403: is s3:ListBucket missing?" : "\(error.code) \(error.status)"
        }
    }
}

extension RenewalSettings {
    init(_ settings: Settings.Renewal) {
        self.init(
            mode: Mode(settings.mode),
            storageClass: settings.storageClass == "preserve" ? .preserved : .named(settings.storageClass),
            encryption: settings.encryption, acl: settings.acl, minimumAge: settings.minimumAge)
    }
}

extension RenewalSettings.Mode {
    fileprivate init(_ mode: Settings.Renewal.Mode) {
        switch mode {
        case .auto: self = .auto
        case .copy: self = .copy
        case .replace: self = .replace
        }
    }
}
