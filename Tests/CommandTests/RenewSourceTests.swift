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

    @LoopActor private func s3(_ transport: some Transport) throws -> S3Client {
        S3Client(
            bucket: "photos", endpoint: try .s3(region: "eu-west-1", bucket: "photos"), transport: transport,
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            isolation: LoopActor.shared)
    }

    @LoopActor private func keys(
        at day: Double, from position: String? = nil, writtenBefore latest: Date = .distantFuture
    ) async throws -> [String] {
        let s3 = try s3(Bucket())
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
        let s3 = try s3(Circle())
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

    @Test @LoopActor func `a listing tells of what it passes over`() async throws {
        var young: [String] = []
        let source = RenewSource.older(age: .seconds(5 * 86_400), prefix: "assets/")
        let now = Self.newYear + 15 * Self.day
        try await source.batches(
            from: nil, now: { now }, try s3(Bucket()), onYoung: { key in young.append(key) }
        ) { _, _ in }
        #expect(young == ["assets/c"])
    }

    // MARK: Lists

    /// The keys of a list with these bytes, or why there are none.
    @LoopActor private func list(_ bytes: [UInt8]) async throws -> [String] {
        let folder = try TemporaryFolder()
        try Data(bytes).write(to: URL(fileURLWithPath: folder["keys"]))
        let s3 = try s3(Bucket())
        var keys: [String] = []
        do throws(RenewalRun.RunError) {
            try await RenewSource.list(folder["keys"]).batches(from: nil, s3) { batch, _ in keys += batch }
        } catch {
            guard case .unreadable(let sentence) = error else { return ["\(error)"] }
            return keys + [sentence.replacing(folder["keys"], with: "the list")]
        }
        return keys
    }

    @Test(arguments: ["\u{FEFF}a/b c\r\n\r\na/\u{FEFF}d\n", "a/b c\na/\u{FEFF}d"])
    @LoopActor func `a mark of byte order at the head of a list is no part of a key`(text: String) async throws {
        #expect(try await list(Array(text.utf8)) == ["a/b c", "a/\u{FEFF}d"])
    }

    @Test @LoopActor func `a list that is not UTF-8 is refused before anything is renewed`() async throws {
        let good = Array(String(repeating: "a\n", count: 1000).utf8)
        #expect(try await list(good + [0xFF, 0x0A]) == ["the list is not UTF-8"])
        // As UTF-16, with its mark.
        #expect(try await list([0xFF, 0xFE, 0x61, 0x00]) == ["the list is not UTF-8"])
    }

    @Test @LoopActor func `a list that is no file is refused`() async throws {
        let s3 = try s3(Bucket())
        let sentence = "/none/keys cannot be read; it has to be a file, neither a pipe nor -"
        await #expect(throws: RenewalRun.RunError.unreadable(sentence)) {
            try await RenewSource.list("/none/keys").batches(from: nil, s3) { _, _ in }
        }
    }

    // MARK: What is not renewed

    @Test func `of a list every key that is not renewed is told, of a listing those that are refused`() {
        let (list, older) = (RenewSource.list("keys"), RenewSource.older(age: .seconds(60), prefix: "assets/"))
        let misses: [RenewalRun.Miss] = [.gone, .leftAlone, .refused(.archived)]
        #expect(misses.map { list.word($0) } == ["gone", "left alone", "archived"])
        #expect(misses.map { older.word($0) } == [nil, nil, "archived"])
    }

    @Test(
        arguments: [
            (0, 0, 0, "keys holds no key"), (3, 0, 0, nil), (3, 1, 0, "1 of the keys in keys are gone or left alone"),
            (0, 0, 2, "2 of the keys in keys are gone or left alone"),
        ] as [(Int, Int, Int, String?)])
    func `a list is saved when none of its keys is gone or left alone`(
        renewed: Int, gone: Int, skipped: Int, expected: String?
    ) {
        var totals = RenewalRun.Totals()
        (totals.renewed, totals.gone, totals.skipped) = (renewed, gone, skipped)
        #expect(RenewSource.list("keys").shortfall(totals, hasFound: true) == expected)
    }

    @Test func `a prefix with nothing to renew is told, whether it is young or not`() {
        let source = RenewSource.older(age: .seconds(60), prefix: "asets/")
        var totals = RenewalRun.Totals()
        #expect(source.shortfall(totals, hasFound: true) == nil)
        #expect(source.shortfall(totals, hasFound: false)?.contains(#"nothing to renew under "asets/""#) == true)
        totals.skipped = 5
        #expect(source.shortfall(totals, hasFound: true) == nil)
        #expect(source.shortfall(totals, hasFound: false) != nil)
    }

    @Test @LoopActor func `a later pass is for what was written before the first`() async throws {
        let first = Self.newYear + 12 * Self.day
        #expect(try await keys(at: 30, from: "", writtenBefore: first) == ["assets/a", "assets/b"])
        #expect(try await keys(at: 13, writtenBefore: first) == ["assets/a"])
    }
}
