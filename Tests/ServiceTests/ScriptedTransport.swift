import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Synchronization

/// STS and S3 as a test wants them.
final class ScriptedTransport: Transport {
    typealias Script = @Sendable (UpstreamRequest) async throws(TransportError) -> UpstreamResponse

    private let script: Script
    private let sent = Mutex<[(request: UpstreamRequest, timeout: Duration)]>([])

    init(_ script: @escaping Script) { self.script = script }

    var requests: [UpstreamRequest] { sent.withLock { $0.map { $0.request } } }
    /// How long each of those might take.
    var timeouts: [Duration] { sent.withLock { $0.map { $0.timeout } } }

    func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
        sent.withLock { $0.append((request, timeout)) }
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

    /// What STS gives from 08:00 for as long as it is asked for.
    static func assumed(for request: UpstreamRequest, key: String = "ASIA1") -> UpstreamResponse {
        let form = String(decoding: request.body, as: UTF8.self)
        let seconds = form.firstRange(of: "DurationSeconds=").flatMap {
            Double(form[$0.upperBound...].prefix { $0 != "&" })
        }
        let end = Date(timeIntervalSince1970: 1_800_000_000 + (seconds ?? 3600))
        return assumed(until: end.formatted(.iso8601), key: key)
    }

    static let copied = text(200, "<CopyObjectResult><ETag>&quot;1&quot;</ETag></CopyObjectResult>")

    static func error(_ status: Int, _ code: String) -> UpstreamResponse {
        text(status, "<Error><Code>\(code)</Code></Error>")
    }
}
