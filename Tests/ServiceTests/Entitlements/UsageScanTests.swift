import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

@Suite(.onLoop)
struct UsageScanTests {
    /// A store of objects that lists two at a time, and what it was asked.
    @LoopActor
    private final class Store {
        let objects: [(key: String, size: Int)]
        var asked: [String] = []
        var failsAfter = Int.max
        var lines: [UInt8] = []

        init(_ objects: [(key: String, size: Int)]) { self.objects = objects.sorted { $0.key < $1.key } }

        func scan(_ totals: UsageTotals) async throws(UsageScan.ScanError) -> UsageTotals {
            let scan = UsageScan(
                interval: .zero, list: { prefix, position in await self.page(prefix, position) },
                keep: { line in
                    self.lines += line
                    return true
                }, onPage: { _ in })
            return try await scan.run(from: totals)
        }

        /// The first page, whatever is asked for.
        func first(_ prefix: String) async -> Result<ObjectPage, AWSError> { await page(prefix, .start) }

        private func page(_ prefix: String, _ position: S3Client.ListPosition) async -> Result<ObjectPage, AWSError> {
            asked.append("\(prefix) \(position)")
            guard asked.count <= failsAfter else {
                return .failure(AWSError(.refused, status: 403, code: "AccessDenied"))
            }
            let start: String =
                switch position {
                case .start: ""
                case .after(let key): key
                case .continuation(let token): token
                }
            let rest = objects.filter { $0.key.hasPrefix(prefix) && $0.key > start }
            let page = rest.prefix(2)
            return .success(await Self.page(prefix, page, isLast: rest.count <= 2))
        }

        /// As S3 tells it.
        private static func page(
            _ prefix: String, _ objects: ArraySlice<(key: String, size: Int)>, isLast: Bool
        ) async -> ObjectPage {
            let contents = objects.map { "<Contents><Key>\($0.key)</Key><Size>\($0.size)</Size></Contents>" }.joined()
            let more =
                isLast
                ? "<IsTruncated>false</IsTruncated>"
                : "<IsTruncated>true</IsTruncated><NextContinuationToken>\(objects.last?.key ?? "")"
                    + "</NextContinuationToken>"
            let body = Array("<ListBucketResult>\(contents)\(more)</ListBucketResult>".utf8)
            let transport = ScriptedTransport { _ in UpstreamResponse(status: 200, body: body) }
            do {
                let s3 = S3Client(
                    bucket: "photos", endpoint: try .s3(region: "eu-west-1", bucket: "photos"), transport: transport,
                    credentials: CredentialSource(Credentials(accessKeyID: "A", secretAccessKey: Secret("s"))))
                return try await s3.list(prefix: prefix, from: .start, deadline: .now + .seconds(5))
            } catch {
                preconditionFailure("\(error)")
            }
        }
    }

    private static let started = "2027-01-15T08:00:00Z"

    private static let objects = [
        ("photos/u_1/a", 1), ("photos/u_1/b", 2), ("photos/u_1/c", 4), ("photos/u_10/a", 8), ("photos/loose", 1000),
        ("photos/not ours/a", 1000), ("thumbnails/u_1/a", 16), ("thumbnails/u_2/a", 32), ("other/u_1/a", 1000),
        ("photosx/u_1/a", 1000),
    ]

    private func subject(
        _ user: String? = nil, _ prefixes: [String] = ["photos", "thumbnails"], endpoint: String = "https://s3.example",
        region: String = "eu-west-1"
    ) -> UsageTotals.Subject {
        UsageTotals.Subject(
            location: BucketLocation(bucket: "photos", endpoint: endpoint, region: region), prefixes: prefixes,
            user: user.flatMap { UserID($0) })
    }

    private func named(_ totals: UsageTotals) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: totals.bytes.map { ($0.key.text, $0.value) })
    }

    @Test @LoopActor func `counts a prefix once that the settings name twice`() async throws {
        let store = Store([("photos/u_1/a", 5)])
        let user = try #require(UserID("u_1"))
        #expect(try await store.scan(UsageTotals(subject(nil, ["photos", "photos"]))).bytes == [user: 5])
    }

    @Test @LoopActor func `adds up what each user has under all prefixes`() async throws {
        let store = Store(Self.objects)
        let totals = try await store.scan(UsageTotals(subject()))
        #expect(named(totals) == ["u_1": 23, "u_10": 8, "u_2": 32] && totals.objects == 8 && totals.isComplete)
    }

    @Test @LoopActor func `lists one user's folders alone`() async throws {
        let store = Store(Self.objects)
        #expect(named(try await store.scan(UsageTotals(subject("u_1")))) == ["u_1": 23])
        #expect(store.asked.allSatisfy { $0.contains("/u_1/ ") })
        let bare = Store([("u_1/a", 1), ("u_2/a", 2), ("b", 4)])
        #expect(named(try await bare.scan(UsageTotals(subject(nil, [""])))) == ["u_1": 1, "u_2": 2])
    }

    @Test(arguments: 0...3)
    @LoopActor func `goes on where it was interrupted`(pages: Int) async throws {
        let store = Store(Self.objects)
        store.lines = UsageTotals(subject()).head(started: Self.started)
        store.failsAfter = pages
        await #expect(throws: UsageScan.ScanError.s3(AWSError(.refused, status: 403, code: "AccessDenied"))) {
            try await store.scan(UsageTotals(subject()))
        }
        // What was being written when the process ended.
        let file = store.lines + Array(#"{"prefix":0,"obj"#.utf8)
        let (totals, counted, _) = try UsageTotals.resumed(subject(), from: file)
        #expect(counted == store.lines.count)
        (store.failsAfter, store.asked) = (.max, [])
        let whole = try await store.scan(totals)
        #expect(named(whole) == ["u_1": 23, "u_10": 8, "u_2": 32] && whole.objects == 8)
        #expect(store.asked.count == 4 - pages)
        #expect(try UsageTotals.resumed(subject(), from: store.lines).0 == whole)
    }

    @Test @LoopActor func `does not go on with the sums of another scan`() async throws {
        let file = UsageTotals(subject()).head(started: Self.started)
        for other in [
            subject("u_1"), subject(nil, ["photos"]), subject(endpoint: "https://s3.staging.example"),
            subject(region: "eu-west-2"),
        ] {
            #expect(throws: UsageTotals.ResumeError.otherScan) { try UsageTotals.resumed(other, from: file) }
        }
        // The last is of an earlier version, which did not name the store.
        for text in ["", "{}\n", "nonsense", #"{"bucket":"photos","prefixes":["photos","thumbnails"]}"# + "\n"] {
            #expect(throws: UsageTotals.ResumeError.otherScan) {
                try UsageTotals.resumed(subject(), from: Array(text.utf8))
            }
        }
    }

    @Test(arguments: [started, nil] as [String?])
    @LoopActor func `a state tells when its scan was started, which is no part of what is scanned`(
        started: String?
    ) throws {
        let file = UsageTotals(subject()).head(started: started)
        let (totals, counted, told) = try UsageTotals.resumed(subject(), from: file)
        #expect(totals == UsageTotals(subject()) && counted == file.count && told == started)
    }

    @Test @LoopActor func `counts no line that it did not write`() async throws {
        let head = UsageTotals(subject()).head(started: Self.started)
        for line in [
            #"{"prefix":1,"objects":1,"last":false,"key":"k","bytes":{}}"#,
            #"{"prefix":0,"objects":-1,"last":false,"key":"k","bytes":{}}"#,
            #"{"prefix":0,"objects":1,"last":false,"key":"k","bytes":{"u/1":1}}"#,
            #"{"prefix":0,"objects":1,"last":false,"key":"k","bytes":{"u_1":-1}}"#,
        ] {
            let (totals, counted, _) = try UsageTotals.resumed(subject(), from: head + Array("\(line)\n".utf8))
            #expect(totals == UsageTotals(subject()) && counted == head.count)
        }
    }

    @Test @LoopActor func `an object without a readable size is named, and adds nothing`() async throws {
        let store = Store([("photos/u_1/a", 5), ("photos/u_1/b", -1), ("photos/loose", -1), ("photos/u_2/a", -1)])
        store.lines = UsageTotals(subject()).head(started: Self.started)
        let totals = try await store.scan(UsageTotals(subject()))
        #expect(named(totals) == ["u_1": 5, "u_2": 0] && totals.objects == 4)
        #expect(totals.unsized.count == 2 && totals.unsized.example == "photos/u_1/b")
        #expect(try UsageTotals.resumed(subject(), from: store.lines).0 == totals)
    }

    @Test @LoopActor func `stops where a store gives the same page for ever`() async throws {
        let store = Store([("photos/u_1/a", 1), ("photos/u_1/b", 1), ("photos/u_1/c", 1)])
        let scan = UsageScan(
            interval: .zero, list: { prefix, _ in await store.first(prefix) }, keep: { _ in true }, onPage: { _ in })
        let totals = UsageTotals(subject())
        await #expect(throws: UsageScan.ScanError.noProgress) { try await scan.run(from: totals) }
    }
}
