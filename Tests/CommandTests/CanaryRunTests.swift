import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import CloakroomLoop
import CloakroomOperations
import CloakroomTestSupport
import Testing

@testable import CloakroomCommand

@Suite(.onLoop)
struct CanaryRunTests {
    /// Without a ledger, and with one object, whose name begins with a mark that combines with the slash before it.
    private final class Bucket: Transport {
        func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
            guard request.method == "GET" else {
                return UpstreamResponse(
                    status: 200, fields: ["ETag": "\"e\"", "Last-Modified": "Sun, 01 Nov 2026 00:00:00 GMT"])
            }
            guard request.target.contains("list-type=2") else {
                return UpstreamResponse(status: 404, body: Array("<Error><Code>NoSuchKey</Code></Error>".utf8))
            }
            let text =
                "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated><Contents>"
                + "<Key>canaries/host/%CC%8120200101T000000Z-delete</Key><Size>3</Size></Contents></ListBucketResult>"
            return UpstreamResponse(status: 200, body: Array(text.utf8))
        }
    }

    @Test @LoopActor func `takes no object for a canary whose name only looks the same by characters`() async throws {
        let s3 = S3Client(
            bucket: "photos", endpoint: try .s3(region: "eu-west-1", bucket: "photos"), transport: Bucket(),
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            isolation: LoopActor.shared)
        let canaries = Canaries(days: 30, grace: .seconds(2 * 86_400))
        let run = CanaryRun(canaries, s3: s3, prefix: "canaries/host/", formerPrefix: nil)
        try await run.run()
        let (findings, count) = (run.findings, run.canaries.canaries.count)
        #expect(findings == [] && count == 2)
    }
}
