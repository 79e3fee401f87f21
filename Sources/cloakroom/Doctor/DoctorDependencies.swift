import CloakroomAWS
import CloakroomCrypto
import CloakroomCurl
import CloakroomHTTP
import CloakroomLoop
import CloakroomOperations
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
    private let upstreams: Upstreams
    /// Names this visit's objects: 16 hexadecimal digits.
    let name = randomBytes(8).hexadecimal
    private var written: [(key: String, client: S3Client)] = []

    init(_ settings: Settings, _ options: DoctorRun.DoctorOptions) {
        self.settings = settings
        self.options = options
        let transport = RecordingTransport(LoopCurlTransport(options: .upstreams(settings)))
        self.transport = transport
        upstreams = Upstreams(
            settings, transport: transport, credentials: WorkerCredentials(settings, transport: transport),
            roleCredentials: WorkerCredentials.ofRoles(settings, transport: transport))
    }

    /// Of the worker.
    var credentials: CredentialSource { upstreams.credentials.source }
    var sts: STSClient { upstreams.sts }
    /// Those over which users are spread.
    var roles: [RoleClient] { upstreams.roles.clients }
    var s3: S3Client { upstreams.s3 }

    /// For one call, its retries included.
    var deadline: ContinuousClock.Instant { .now + .seconds(10) }

    /// - Returns: whose the worker's credentials are.
    func requireCredentials() async throws(CredentialChainError) -> String {
        try await upstreams.credentials.require()
        let chain = AWSCredentials.chain(settings.aws, transport: transport, runtime: .onLoop)
        return settings.aws.keys == nil ? (try? chain.expectedOrigin()) ?? "the settings" : "the settings"
    }

    /// The bucket, with other credentials or another renewal mode.
    func s3(
        as credentials: CredentialSource? = nil, endpoint: Endpoint? = nil, mode: RenewalSettings.Mode? = nil
    ) -> S3Client {
        var renewal = RenewalSettings(settings.renewal)
        if let mode { renewal.mode = mode }
        // The probe object has only just been written.
        renewal.minimumAge = .zero
        return upstreams.s3(as: credentials, endpoint: endpoint, renewal: renewal)
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
    private let transport: any Transport
    private(set) var last: UpstreamResponse?

    init(_ transport: any Transport) { self.transport = transport }

    @LoopActor func send(
        _ request: UpstreamRequest, timeout: Duration
    ) async throws(TransportError) -> UpstreamResponse {
        last = nil
        let response = try await transport.send(request, timeout: timeout)
        last = response
        return response
    }
}
