import CloakroomAWS
import CloakroomCrypto
import CloakroomCurl
import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomScriptedS3

/// Our client on the real transport, before the S3 that answers as AWS does.
@LoopActor
struct ScriptedStore {
    let server: ScriptedS3
    let s3: S3Client
    private let transport = LoopCurlTransport()

    init(renewal: RenewalSettings = .init(), timeout: Duration = .seconds(5), attempts: Int = 3) throws {
        server = try ScriptedS3()
        s3 = try server.client(renewal: renewal, timeout: timeout, attempts: attempts)
    }

    func renew(_ key: String = "a.bin") async -> Renewal.Outcome {
        await s3.renew(key: key, deadline: .now + .seconds(15)).outcome
    }

    /// A request of the test's own, signed by the worker's signer.
    func ask(_ method: String, _ target: String, _ fields: HeaderFields) async throws -> UpstreamResponse {
        let identity = ScriptedIdentity()
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        let time = Timestamp(Date())
        var message = SigV4.Message(
            method: method, path: parts[0], query: parts.count > 1 ? parts[1] : "", fields: fields,
            payloadHash: SHA256.hash([]).hexadecimal)
        message.fields.add("host", "127.0.0.1:\(server.port)")
        let key = SigningKey(
            secretAccessKey: Secret(identity.secretAccessKey), day: String(time.basic.prefix(8)), region: "eu-west-1",
            service: "s3")
        SigV4(rules: .s3).sign(
            &message,
            with: Credentials(accessKeyID: identity.accessKeyID, secretAccessKey: Secret(identity.secretAccessKey)),
            key: key, at: time)
        return try await transport.send(
            UpstreamRequest(method: method, origin: server.url, target: target, fields: message.fields),
            timeout: .seconds(5))
    }

    /// A copy of `a.bin` onto itself.
    func copyOntoItself(_ fields: HeaderFields = [:]) async throws -> UpstreamResponse {
        var fields = fields
        fields.add("x-amz-copy-source", "photos/a.bin")
        return try await ask("PUT", "/photos/a.bin", fields)
    }
}

extension ScriptedS3 {
    /// A client of the only bucket, for the only identity. Between attempts no time passes.
    @LoopActor func client(
        renewal: RenewalSettings = .init(), timeout: Duration = .seconds(5), attempts: Int = 3
    ) throws -> S3Client {
        let options = Options()
        let credentials = CredentialSource(
            Credentials(
                accessKeyID: options.identity.accessKeyID, secretAccessKey: Secret(options.identity.secretAccessKey)))
        let runtime = RuntimeDependencies(
            sleep: { _ in }, randomNumber: { .max }, spawn: { body in LoopActor.spawn { await body() } })
        return S3Client(
            bucket: options.bucket, endpoint: try .s3(region: options.region, bucket: options.bucket, custom: url),
            transport: LoopCurlTransport(), credentials: credentials, renewal: renewal,
            retry: RetrySettings(maximumAttempts: attempts, timeout: timeout), runtime: runtime,
            isolation: LoopActor.shared)
    }
}

extension UpstreamResponse {
    var text: String { String(decoding: body, as: UTF8.self) }

    /// Status and code of an error.
    var told: String {
        let code = text.firstMatch(of: /<Code>([^<]*)<\/Code>/).map { " " + String($0.1) } ?? ""
        return "\(status)\(code)"
    }
}
