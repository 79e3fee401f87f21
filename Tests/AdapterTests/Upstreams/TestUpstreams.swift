import CloakroomAWS
import CloakroomCrypto
import CloakroomCurl
import Foundation
import CloakroomLoop
import CloakroomTestSupport

/// Clients on the real transport, patient for no longer than a test may be.
@LoopActor
struct TestUpstreams {
    let server: HTTPServer
    let sts: STSClient
    let s3: S3Client

    init(
        server: HTTPServer, timeout: Duration = .seconds(5), renewal: RenewalSettings = .init(),
        wallClock: @escaping @Sendable () -> Date = { Date() },
        onAttempt: @escaping @Sendable (Attempt) -> Void = { _ in }
    ) throws {
        self.server = server
        let credentials = CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret")))
        // Between tries no time passes.
        let runtime = RuntimeDependencies(wallClock: wallClock, sleep: { _ in }, randomNumber: { .max })
        let retry = RetrySettings(maximumAttempts: 3, timeout: timeout)
        let transport = LoopCurlTransport()
        sts = STSClient(
            endpoint: try .sts(region: "eu-west-1", custom: server.url), transport: transport, credentials: credentials,
            retry: retry, runtime: runtime, isolation: LoopActor.shared)
        s3 = S3Client(
            bucket: "photos", endpoint: try .s3(region: "eu-west-1", bucket: "photos", custom: server.url),
            transport: transport, credentials: credentials, renewal: renewal, retry: retry,
            runtime: runtime, isolation: LoopActor.shared, onAttempt: onAttempt)
    }

    init(timeout: Duration = .seconds(5), renewal: RenewalSettings = .init(), _ steps: [HTTPServer.Step]) throws {
        try self.init(server: HTTPServer { _ in steps }, timeout: timeout, renewal: renewal)
    }

    func assume() async -> Result<AssumedRole, STSError> {
        let request = AssumeRole(
            roleARN: "arn:aws:iam::000000000000:role/r", sessionName: "u_1", duration: .seconds(900))
        do throws(STSError) {
            return .success(try await sts.assumeRole(request, deadline: .now + .seconds(15)))
        } catch {
            return .failure(error)
        }
    }

    func renew(_ key: String = "a.bin") async -> Renewal.Outcome {
        await s3.renew(key: key, deadline: .now + .seconds(15)).outcome
    }
}
