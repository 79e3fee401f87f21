import CloakroomAWS
import CloakroomCrypto
import CloakroomKitTestSupport
import CloakroomSQLite
import Foundation
import Synchronization

@testable import CloakroomKit

/// The network between an outbox and a bucket in memory, which fails where a test wants it.
actor FaultyNetwork: HTTPTransport {
    enum Fault: Sendable {
        case failure(HTTPTransportError)
        case response(HTTPResponse)
        /// S3 does as it was told, and the response is lost.
        case lost
        /// It waits, and then goes on; cancelled, it fails.
        case held(Gate)
    }

    let s3: FakeS3
    private var faults: [(text: String, fault: Fault)] = []
    private(set) var requests: [HTTPRequest] = []
    private var current = 0
    private(set) var mostAtOnce = 0

    init(_ s3: FakeS3) { self.s3 = s3 }

    /// Of the next requests whose method and key have this text.
    func inject(_ text: String, _ fault: Fault, times: Int = 1) {
        for _ in 0..<times { faults.append((text, fault)) }
    }

    func removeFaults() { faults = [] }

    func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        requests.append(request)
        current += 1
        mostAtOnce = max(mostAtOnce, current)
        defer { current -= 1 }
        let line = "\(request.method) \(request.url.path)"
        guard let index = faults.firstIndex(where: { line.contains($0.text) }) else {
            return try await s3.send(request, progress: progress)
        }
        switch faults.remove(at: index).fault {
        case .failure(let error): throw error
        case .response(let response): return response
        case .lost:
            _ = try await s3.send(request, progress: nil)
            throw .interrupted
        case .held(let gate):
            progress?(HTTPProgress(bytesSent: 2))
            guard await gate.pass() else { throw .cancelled }
            return try await s3.send(request, progress: progress)
        }
    }

    /// Method and key, in order.
    var lines: [String] { requests.map { "\($0.method) \($0.url.path.dropFirst(FakeS3.bucket.count + 2))" } }
}

/// A worker that issues targets `asset-1`, `asset-2`, …, and renews what the bucket has.
actor OutboxWorker: PresignedUploader, AssetRenewer, ImageReleaser {
    private let s3: FakeS3
    private let fake: FakeRuntime
    private(set) var issued = 0
    private(set) var renewals = 0
    private(set) var released: [String] = []
    private var failingRenewals = 0
    private var renewalGate: Gate?
    var errors: [CloakroomError] = []
    /// `nil` for a backend that does not say when its URLs end.
    var lifetime: TimeInterval? = 900

    init(_ s3: FakeS3, _ fake: FakeRuntime) {
        self.s3 = s3
        self.fake = fake
    }

    func fail(_ error: CloakroomError, times: Int = 1) {
        errors += Array(repeating: error, count: times)
    }

    func requestUpload(contentType: String, byteCount: Int64?) throws -> UploadTarget {
        if !errors.isEmpty { throw errors.removeFirst() }
        issued += 1
        let key = "assets/asset-\(issued)"
        return UploadTarget(
            objectKey: key, uploadURL: URL(string: "http://127.0.0.1:1/\(FakeS3.bucket)/\(key)?X-Amz-Signature=1")!,
            assetURL: URL(string: "https://cdn.example/\(key)")!, expiration: lifetime.map { fake.wallTime + $0 },
            fields: ["Content-Type": contentType, "If-None-Match": "*"])
    }

    func requestChatUpload(contentType: String, byteCount: Int64?) throws -> UploadTarget {
        let target = try requestUpload(contentType: contentType, byteCount: byteCount)
        return UploadTarget(
            objectKey: target.objectKey, uploadURL: target.uploadURL, assetURL: target.assetURL,
            expiration: target.expiration, fields: target.fields, releaseToken: "token of \(target.objectKey)")
    }

    func release(_ images: [ImageRelease]) async -> [ImageReleaseResult] {
        for image in images where image.releaseToken == "token of \(image.objectKey)" {
            released.append(image.objectKey)
            await s3.delete(image.objectKey)
        }
        return images.map { ImageReleaseResult(objectKey: $0.objectKey, outcome: .released(bytesGoneBy: nil)) }
    }

    func upload(_ body: HTTPBody, to target: UploadTarget) {}

    func failRenewals(_ count: Int) { failingRenewals = count }

    func holdRenewals(_ gate: Gate) { renewalGate = gate }

    func renewAssets(keys: [String]) async throws -> [RenewalResult] {
        renewals += 1
        await renewalGate?.pass()
        if failingRenewals > 0 {
            failingRenewals -= 1
            throw CloakroomError(.unreachable, "no")
        }
        var results: [RenewalResult] = []
        for key in keys {
            let isThere = await s3.objects[key] != nil
            results.append(RenewalResult(key: key, outcome: isThere ? .renewed(expiration: nil) : .notFound))
        }
        return results
    }
}

/// An outbox's surroundings, which outlive it.
final class OutboxFixture: Sendable {
    let folder: TemporaryFolder
    let s3 = FakeS3()
    let network: FaultyNetwork
    let worker: OutboxWorker
    let fake: FakeRuntime
    let journal = InMemoryMultipartJournal()
    private let serverAhead: Duration

    /// - Parameter serverAhead: what the worker's responses have shown of its clock.
    init(sleeping: FakeRuntime.Sleeping = .advances, serverAhead: Duration = .zero) throws {
        self.serverAhead = serverAhead
        folder = try TemporaryFolder()
        fake = FakeRuntime(sleeping: sleeping)
        network = FaultyNetwork(s3)
        worker = OutboxWorker(s3, fake)
    }

    var root: URL { folder.url.appendingPathComponent("outbox") }

    /// Parts of 10 bytes, above 20.
    func client() -> S3BackupClient {
        S3BackupClient(
            transport: network, endpoint: URL(string: "http://127.0.0.1:1"), journal: journal,
            sizes: .init(budget: 64, singlePut: 20, part: 10, partsAtOnce: 2, firstRange: 16), runtime: fake.runtime,
            serverOffset: { [serverAhead] in serverAhead }
        ) {
            .init(
                bucket: FakeS3.bucket, region: "eu-west-1",
                source: CredentialSource(
                    Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"), sessionToken: Secret("token"))))
        }
    }

    func outbox(
        owner: StoreOwner = .test, carrier: (any TransferCarrier)? = nil,
        conditions: any RunConditions = UnrestrictedConditions(), options: Outbox.Options? = nil,
        onStep: @escaping @Sendable (OutboxStep) async -> Void = { _ in }
    ) throws -> Outbox {
        var usual = Outbox.Options()
        usual.largestPut = 40
        return try Outbox(
            folder: root, owner: owner, photos: client(), assets: worker,
            carrier: carrier ?? TransportCarrier(transport: network, runtime: fake.runtime), conditions: conditions,
            options: options ?? usual, runtime: fake.runtime, onStep: onStep)
    }

    func photo(_ text: String) throws -> URL { try folder.write("\(UUID().uuidString)/photo.jpg", text) }

    static func key(_ text: String) -> String { "photos/u_1/\(MD5.hash(Data(text.utf8)).hexadecimal).dat" }

    /// The folder of the test's owner.
    var own: URL { root.appendingPathComponent(StoreOwner.test.folderName) }

    /// The outbox's own copy of an item.
    func copy(of id: OutboxItem.ID) -> URL { own.appendingPathComponent("files/\(id.rawValue)") }

    /// Has no row be readable.
    func damageItems() throws {
        let database = try SQLiteDatabase(at: own.appendingPathComponent("outbox.sqlite").path)
        try database.run("UPDATE items SET state = 'x'")
        database.close()
    }

    /// What the outbox's folder of this owner has.
    func files(of owner: StoreOwner = .test) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: root.appendingPathComponent("\(owner.folderName)/files").path
        ).sorted()
    }

    /// How often each key was put.
    func puts() async -> [String: Int] {
        var puts: [String: Int] = [:]
        for line in await network.lines where line.hasPrefix("PUT ") {
            puts[String(line.dropFirst(4)), default: 0] += 1
        }
        return puts
    }
}

extension UploadContent {
    init(_ text: String) { self.init(Data(text.utf8), contentType: "image/jpeg") }
}

/// A device whose conditions a test sets.
final class SettableConditions: RunConditions {
    private let value: Mutex<DeviceConditions>

    init(_ value: DeviceConditions) { self.value = Mutex(value) }

    func set(_ value: DeviceConditions) { self.value.withLock { $0 = value } }

    func current() async -> DeviceConditions { value.withLock { $0 } }
}
