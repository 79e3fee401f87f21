import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import CloakroomLoop
import CloakroomOperations
import CloakroomServer
import CloakroomTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomCommand

@Suite(.onLoop)
struct RenewSourceTests {
    /// One page of three objects: written on the 1st, the 10th and the 20th of January 2027.
    private final class Bucket: Transport {
        func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
            let start = request.target.contains("start-after=") ? 1 : 0
            let entries = [("a", "01"), ("b", "10"), ("c", "20")][start...].map { key, day in
                "<Contents><Key>assets/\(key)</Key><LastModified>2027-01-\(day)T00:00:00.000Z</LastModified>"
                    + "<Size>3</Size></Contents>"
            }
            let text =
                "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"
                + "\(entries.joined())</ListBucketResult>"
            return UpstreamResponse(status: 200, body: Array(text.utf8))
        }
    }

    private static let day: TimeInterval = 86_400
    /// 2027-01-01T00:00:00Z
    private static let newYear = Date(timeIntervalSince1970: 1_798_761_600)

    @LoopActor private func keys(
        at day: Double, from position: String? = nil, writtenBefore latest: Date = .distantFuture
    ) async throws -> [String] {
        let s3 = S3Client(
            bucket: "photos", endpoint: try .s3(region: "eu-west-1", bucket: "photos"), transport: Bucket(),
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            isolation: LoopActor.shared)
        var keys: [String] = []
        let now = Self.newYear + day * Self.day
        let source = RenewSource.older(age: .seconds(5 * 86_400), prefix: "assets/")
        try await source.batches(from: position, writtenBefore: latest, now: { now }, s3) { batch, _ in keys += batch }
        return keys
    }

    @Test @LoopActor func `a listing passes over what is younger than the age`() async throws {
        #expect(try await keys(at: 6) == ["assets/a"])
        #expect(try await keys(at: 15) == ["assets/a", "assets/b"])
        #expect(try await keys(at: 30) == ["assets/a", "assets/b", "assets/c"])
        #expect(try await keys(at: 30, from: "assets/a") == ["assets/b", "assets/c"])
    }

    /// The same page with another token each time; the third object has no readable time.
    private final class Circle: Transport {
        private let count = Mutex(0)

        func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
            let number = count.withLock { count in
                count += 1
                return count
            }
            let text = """
                <ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>\(number)</NextContinuationToken>\
                <Contents><Key>assets/c</Key><LastModified>soon</LastModified><Size>many</Size></Contents></ListBucketResult>
                """
            return UpstreamResponse(status: 200, body: Array(text.utf8))
        }
    }

    @Test @LoopActor func `a listing in a circle ends, and what has no readable time counts as old`() async throws {
        let s3 = S3Client(
            bucket: "photos", endpoint: try .s3(region: "eu-west-1", bucket: "photos"), transport: Circle(),
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            isolation: LoopActor.shared)
        var keys: [String] = []
        let source = RenewSource.older(age: .seconds(86_400), prefix: "assets/")
        do throws(RenewalRun.RunError) {
            try await source.batches(from: nil, s3) { batch, _ in keys += batch }
            Issue.record("it came to an end")
        } catch {
            #expect(error == .unavailable(code: "SamePageAgain"))
        }
        #expect(keys == ["assets/c", "assets/c"])
    }

    @Test @LoopActor func `a later pass is for what was written before the first`() async throws {
        let first = Self.newYear + 12 * Self.day
        #expect(try await keys(at: 30, from: "", writtenBefore: first) == ["assets/a", "assets/b"])
        #expect(try await keys(at: 13, writtenBefore: first) == ["assets/a"])
    }
}
