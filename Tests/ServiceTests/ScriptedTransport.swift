import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Synchronization

/// STS and S3 as a test wants them.
final class ScriptedTransport: Transport {
    typealias Script = @Sendable (UpstreamRequest) async throws(TransportError) -> UpstreamResponse

    private let script: Script
    private let sent = Mutex<[UpstreamRequest]>([])

    init(_ script: @escaping Script) { self.script = script }

    var requests: [UpstreamRequest] { sent.withLock { $0 } }

    func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
        sent.withLock { $0.append(request) }
        return try await script(request)
    }
}

extension UpstreamResponse {
    static func text(_ status: Int, _ text: String) -> UpstreamResponse {
        UpstreamResponse(status: status, body: Array(text.utf8))
    }

    /// What STS gives for an hour from 08:00.
    static func assumed(until expiration: String = "2027-01-15T09:00:00Z", key: String = "ASIA1") -> UpstreamResponse {
        text(
            200,
            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>\(key)</AccessKeyId>"
                + "<SecretAccessKey>s3cr3t</SecretAccessKey><SessionToken>t0k3n</SessionToken>"
                + "<Expiration>\(expiration)</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>")
    }

    static let copied = text(200, "<CopyObjectResult><ETag>&quot;1&quot;</ETag></CopyObjectResult>")

    static func error(_ status: Int, _ code: String) -> UpstreamResponse {
        text(status, "<Error><Code>\(code)</Code></Error>")
    }
}
