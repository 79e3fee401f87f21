import CloakroomAWS
import CloakroomCrypto
import CloakroomCurl
import CloakroomHTTP
import CloakroomLoop
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The services that the doctor checks, reached as the workers reach them; and what it wrote there.
@LoopActor
final class DoctorDependencies {
    let settings: Settings
    let options: DoctorRun.DoctorOptions
    /// To STS and S3.
    let transport: RecordingTransport
    /// Of the worker.
    let credentials: CredentialSource
    let sts: STSClient
    let s3: S3Client
    /// Names this visit's objects: 16 hexadecimal digits.
    let name = randomBytes(8).hexadecimal
    private let refreshing: RefreshingCredentials?
    private let retry: RetrySettings
    private let runtime: RuntimeDependencies
    private var origin = "the settings"
    private var written: [(key: String, client: S3Client)] = []

    init(_ settings: Settings, _ options: DoctorRun.DoctorOptions) {
        self.settings = settings
        self.options = options
        var curl = LoopCurlTransport.Options()
        curl.certificateAuthorities = settings.aws.certificateAuthorities
        transport = RecordingTransport(LoopCurlTransport(options: curl))
        retry = RetrySettings(maximumAttempts: settings.aws.maximumAttempts, timeout: settings.aws.timeout)
        runtime = RuntimeDependencies(
            sleep: { try await LoopActor.sleep(for: $0) }, spawn: { body in LoopActor.spawn { await body() } })
        if let keys = settings.aws.keys {
            refreshing = nil
            credentials = CredentialSource(keys)
        } else {
            let chain = AWSCredentials.chain(settings.aws, transport: transport, runtime: runtime)
            if let expectedOrigin = try? chain.expectedOrigin() { origin = expectedOrigin }
            let source = RefreshingCredentials(chain, runtime: runtime)
            refreshing = source
            credentials = CredentialSource(source)
        }
        sts = STSClient(
            endpoint: settings.aws.sts, transport: transport, credentials: credentials, retry: retry,
            runtime: runtime, isolation: LoopActor.shared)
        s3 = S3Client(
            bucket: settings.bucket, endpoint: settings.aws.s3, transport: transport, credentials: credentials,
            renewal: RenewalSettings(settings.renewal), retry: retry, runtime: runtime,
            isolation: LoopActor.shared)
    }

    /// For one call, its retries included.
    var deadline: ContinuousClock.Instant { .now + .seconds(10) }

    /// - Returns: whose the worker's credentials are.
    func requireCredentials() async throws(CredentialChainError) -> String {
        _ = try await refreshing?.current()
        return origin
    }

    /// The bucket, with other credentials or another renewal mode.
    func s3(
        as credentials: CredentialSource? = nil, endpoint: Endpoint? = nil, mode: RenewalSettings.Mode? = nil
    ) -> S3Client {
        var renewal = RenewalSettings(settings.renewal)
        if let mode { renewal.mode = mode }
        // The probe object has only just been written.
        renewal.minimumAge = .zero
        return S3Client(
            bucket: settings.bucket, endpoint: endpoint ?? settings.aws.s3, transport: transport,
            credentials: credentials ?? self.credentials, renewal: renewal, retry: retry, runtime: runtime,
            isolation: LoopActor.shared)
    }

    // MARK: What was written

    /// Whether the worker may not delete what it writes; sent for an object that is not there yet.
    func refusesDeletion(of object: ObjectAddress) async -> Bool {
        do throws(AWSError) {
            try await s3.send(.delete(object), deadline: deadline)
            return false
        } catch {
            return ProbeOutcome(error) == .refused
        }
    }

    /// To be called before an object is put.
    func willWrite(_ key: String, as client: S3Client) { written.append((key, client)) }

    /// - Returns: what is left, as findings. A check that has run out of time leaves it to the end of the visit.
    func tidyUp() async -> [Finding] {
        var findings: [Finding] = []
        while let (key, client) = written.popLast() {
            guard let object = ObjectAddress(key: key) else { continue }
            do throws(AWSError) { try await client.delete(object, deadline: deadline) } catch {
                guard !Task.isCancelled else {
                    written.append((key, client))
                    return findings
                }
                findings.append(
                    CheckName.bucket.warning(
                        "the doctor's object \(key) could not be deleted: \(error.words)",
                        why: "it stays until the bucket's rule ends it", advice: "delete it by hand"))
            }
        }
        return findings
    }
}

/// Keeps the last response whole: what STS writes beside its codes is for people.
@LoopActor
final class RecordingTransport: Transport {
    private let transport: LoopCurlTransport
    private(set) var last: UpstreamResponse?

    init(_ transport: LoopCurlTransport) { self.transport = transport }

    @LoopActor func send(
        _ request: UpstreamRequest, timeout: Duration
    ) async throws(TransportError) -> UpstreamResponse {
        last = nil
        let response = try await transport.send(request, timeout: timeout)
        last = response
        return response
    }
}
