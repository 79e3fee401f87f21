import AWS
import Curl
import HTTPValues
import Loop
import Service

/// STS and S3 as the settings describe them, on one transport.
@LoopActor
struct Upstreams {
    let sts: STSClient
    let s3: S3Client
    /// For the command that revokes; nothing of a worker asks it.
    let iam: IAMClient
    let bucketURL: String
    private let transport: CurlTransport
    private let stsEndpoint: Endpoint
    private static let probeTimeout: Duration = .seconds(3)

    /// - Parameter maximumResponseBytes: `nil` for what answers to a worker need at most.
    init(settings: Settings, metrics: Metrics, maximumResponseBytes: Int? = nil) throws {
        guard let accessKeyID = settings.aws.accessKeyID, let secretAccessKey = settings.aws.secretAccessKey else {
            throw Assembly.Failure.noCredentials
        }
        var options = CurlTransport.Options()
        options.certificateAuthorities = settings.aws.certificateAuthorities
        if let maximumResponseBytes { options.maximumResponseBytes = maximumResponseBytes }
        transport = CurlTransport(options: options)
        let credentials = CredentialSource(
            Credentials(
                accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, sessionToken: settings.aws.sessionToken))
        let retry = RetrySettings(maximumAttempts: settings.aws.maximumAttempts, timeout: settings.aws.timeout)
        let surroundings = Surroundings(sleep: { try await LoopActor.sleep(for: $0) })
        stsEndpoint = try .sts(region: settings.region, custom: settings.aws.stsEndpoint)
        let bucket = try Endpoint.s3(
            region: settings.region, bucket: settings.bucket, pathStyle: settings.aws.pathStyle,
            custom: settings.aws.s3Endpoint)
        bucketURL = bucket.url
        let observe: @Sendable (Attempt) -> Void = { attempt in LoopActor.assumeIsolated { metrics.attempted(attempt) }
        }
        sts = STSClient(
            endpoint: stsEndpoint, transport: transport, credentials: credentials, retry: retry,
            surroundings: surroundings, place: LoopActor.shared, onAttempt: observe)
        iam = IAMClient(
            endpoint: try .iam(region: settings.region, custom: settings.aws.iamEndpoint), transport: transport,
            credentials: credentials, retry: retry, surroundings: surroundings, place: LoopActor.shared)
        s3 = S3Client(
            bucket: settings.bucket, endpoint: bucket, transport: transport, credentials: credentials,
            renewal: RenewalSettings(settings.renewal), retry: retry, surroundings: surroundings,
            place: LoopActor.shared, onAttempt: observe)
    }

    /// One page of a listing.
    func page(_ prefix: String, _ position: S3Client.ListPosition) async -> Result<ObjectPage, Fault> {
        do throws(Fault) {
            return .success(try await s3.list(prefix: prefix, from: position, deadline: .now + .seconds(60)))
        } catch {
            return .failure(error)
        }
    }

    /// Whether anybody answers where STS should be; what, does not matter.
    func probeSTS() async -> String? {
        do {
            _ = try await transport.send(
                UpstreamRequest(method: "GET", url: stsEndpoint.url + "/"), timeout: Self.probeTimeout)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// A key that nobody has: S3 says `NoSuchKey` only to those who may list, and only they learn what is gone.
    func probeS3() async -> String? {
        guard let object = ObjectAddress(key: "cloakroom-readiness-probe") else { return nil }
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
            mode: Mode(settings.mode), storageClass: settings.storageClass, minimumAge: settings.minimumAge)
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
