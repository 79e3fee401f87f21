import CloakroomAWS
import CloakroomCrypto
import Foundation

@testable import CloakroomKit
@testable import CloakroomTiers

/// An ``S3ColdTier`` before a bucket in memory: see ``BackupBench`` for its sizes.
struct S3TierBench {
    let bench: BackupBench
    let client: S3BackupClient
    let tier: S3ColdTier
    let layout: PhotoLayout
    var s3: MemoryS3 { bench.s3 }
    var http: ScriptedHTTP { bench.http }
    var folder: URL { bench.folder }
    /// Requests so far, such as `HEAD /photos/u_1/tiers/….dat`.
    var lines: [String] { get async { await bench.lines } }

    init() throws {
        bench = try BackupBench()
        client = bench.client()
        layout = try PhotoLayout(userID: "u_1")
        tier = S3ColdTier(client: client, layout: layout)
    }

    /// One whose credentials are what `access` says.
    func tier(
        endpoint: String? = "http://127.0.0.1:1",
        access: @escaping @Sendable () async throws -> (bucket: String, region: String)
    ) -> S3ColdTier {
        let client = S3BackupClient(
            transport: bench.http, endpoint: endpoint.flatMap { URL(string: $0) }, journal: bench.journal,
            sizes: .init(), runtime: bench.fake.runtime
        ) {
            let (bucket, region) = try await access()
            let credentials = Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))
            return .init(bucket: bucket, region: region, source: CredentialSource(credentials))
        }
        return S3ColdTier(client: client, layout: layout)
    }

    func photo(_ bytes: Data, format: String = "jpg") -> PhotoDescriptor {
        PhotoDescriptor(
            sha256: SHA256.hash(bytes), md5: MD5.hash(bytes), byteCount: Int64(bytes.count), format: format)
    }

    func key(_ photo: PhotoDescriptor) -> String { "photos/u_1/tiers/\(photo.md5.hexadecimal).dat" }

    /// As ``S3ColdTier`` stores it, with other fields besides.
    func store(_ photo: PhotoDescriptor, _ bytes: Data, tag: String? = nil, fields: [String: String] = [:]) async {
        let metadata = photo.sha256.map { ["x-amz-meta-sha256": $0.hexadecimal] } ?? [:]
        await s3.store(key(photo), bytes, tag: tag, fields: metadata.merging(fields) { $1 })
    }

    func stored(_ photo: PhotoDescriptor) async -> MemoryS3.Object? { await s3.objects[key(photo)] }

    func code(_ body: () async throws -> some Any) async -> CloakroomError.Code? { await bench.code(body) }
}

/// Bytes of the same length, others everywhere.
func inverted(_ bytes: Data) -> Data { Data(bytes.map { ~$0 }) }
