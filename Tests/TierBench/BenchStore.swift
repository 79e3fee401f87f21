import CloakroomBenchSupport
import CloakroomKit
import CloakroomTiers
import Foundation

#if os(Linux)
    import CloakroomCurlTransport

    private typealias Transport = CurlTransport
#else
    private typealias Transport = URLSessionTransport
#endif

/// A store of photos, and the meter of the requests it sends.
struct BenchStore {
    let store: TieredPhotoStore
    let client: S3BackupClient
    let layout: PhotoLayout
    let meter: MeteredTransport

    /// On the store of the arguments, with credentials of the worker.
    static func real(_ arguments: Arguments, daysLater: Int = 0, policy: RetentionPolicy = RetentionPolicy()) throws
        -> BenchStore
    {
        guard let worker = URL(string: try arguments.text("worker")), let s3 = URL(string: try arguments.text("s3"))
        else { throw BenchError("worker and s3 are URLs") }
        let token = try String(contentsOfFile: try arguments.text("token"), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let meter = MeteredTransport(Transport(), bucketHost: s3)
        let vendor = CloakroomClient(endpoint: worker, transport: meter) { token }
        return try BenchStore(
            arguments.folder, user: try arguments.text("user"), vendor: vendor, meter: meter, s3: s3,
            daysLater: daysLater, policy: policy)
    }

    /// On a bucket in memory.
    static func inMemory(
        _ folder: URL, _ bucket: MemoryS3, daysLater: Int = 0, policy: RetentionPolicy = RetentionPolicy()
    ) throws -> BenchStore {
        let meter = MeteredTransport(bucket, bucketHost: MemoryS3.endpoint)
        return try BenchStore(
            folder, user: "u_bench", vendor: FixedCredentials(), meter: meter, s3: MemoryS3.endpoint,
            daysLater: daysLater, policy: policy)
    }

    private init(
        _ folder: URL, user: String, vendor: any CredentialVendor, meter: MeteredTransport, s3: URL, daysLater: Int,
        policy: RetentionPolicy
    ) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        layout = try PhotoLayout(userID: user)
        client = S3BackupClient(
            credentials: CredentialProvider(vendor: vendor), transport: meter, endpoint: s3,
            journal: InMemoryMultipartJournal())
        self.meter = meter
        let shift = TimeInterval(daysLater) * 86_400
        store = try TieredPhotoStore(
            folder: folder.appendingPathComponent("store", isDirectory: true),
            tier: S3ColdTier(client: client, layout: layout), thumbnailer: CannedThumbnails(), policy: policy,
            conditions: UnrestrictedConditions(), clock: { Date().addingTimeInterval(shift) })
    }

    /// Adds photos of these numbers, four at a time.
    ///
    /// - Parameter days: since they were added.
    func add(_ numbers: Range<Int>, byteCount: Int, in folder: URL, daysAgo days: Int = 0) async throws {
        let store = store
        let addedAt = Date().addingTimeInterval(-Double(days) * 86_400)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, number) in numbers.enumerated() {
                if place >= 4 { try await group.next() }
                group.addTask {
                    let file = folder.appendingPathComponent("new-\(number)")
                    try Content.photo(number, byteCount: byteCount).write(to: file)
                    defer { try? FileManager.default.removeItem(at: file) }
                    try await store.add(
                        file, name: Content.name(number), takenAt: Date(timeIntervalSince1970: 1.7e9 + Double(number)),
                        addedAt: addedAt)
                }
            }
            try await group.waitForAll()
        }
    }

    func photo(_ number: Int) async throws -> PhotoID {
        guard let id = try await store.photo(named: Content.name(number)) else {
            throw BenchError("there is no \(Content.name(number))")
        }
        return id
    }
}

extension TieringReport {
    /// A run that failed measures nothing.
    func expectSuccess() throws {
        if let error = stoppedBy ?? failures.first?.error { throw BenchError("the run failed: \(error)") }
        if let alarm = alarms.first { throw BenchError("the run raised an alarm: \(alarm)") }
    }
}

/// Credentials that a bucket in memory accepts as well as any others.
private struct FixedCredentials: CredentialVendor {
    func vendCredentials() async throws -> VendedCredentials {
        VendedCredentials(
            accessKeyID: "ASIAIOSFODNN7EXAMPLE", secretAccessKey: String(repeating: "k", count: 40),
            sessionToken: "token", expiration: Date().addingTimeInterval(3600), region: "eu-west-1",
            bucket: MemoryS3.bucket)
    }
}
