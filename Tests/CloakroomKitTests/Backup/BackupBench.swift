import CloakroomAWS
import CloakroomCrypto
import Foundation

@testable import CloakroomKit

/// A client before a bucket in memory, and a folder for its files.
final class BackupBench: Sendable {
    let s3 = MemoryS3()
    let http: ScriptedHTTP
    let fake = FakeRuntime()
    let journal = InMemoryMultipartJournal()
    let folder: URL

    init() throws {
        http = s3.http()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("backup-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Parts of 10 bytes, from 20 on; first ranges of 16 bytes.
    func client(journal: (any MultipartJournal)? = nil, http: ScriptedHTTP? = nil) -> S3BackupClient {
        S3BackupClient(
            transport: http ?? self.http, endpoint: URL(string: "http://127.0.0.1:1"), journal: journal ?? self.journal,
            sizes: .init(budget: 64, singlePut: 20, part: 10, partsAtOnce: 2, firstRange: 16),
            runtime: fake.runtime
        ) {
            .init(
                bucket: "photos", region: "eu-west-1",
                source: CredentialSource(
                    Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"), sessionToken: Secret("token"))))
        }
    }

    /// - Parameter seconds: when it was last written, since 1970; `nil` for now.
    func file(_ name: String, _ bytes: Data, modified seconds: Double? = nil) throws -> URL {
        let url = folder.appendingPathComponent(name)
        try bytes.write(to: url)
        if let seconds {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: url.path)
        }
        return url
    }

    var fileNames: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    /// Requests so far, without the bucket's own URL.
    var lines: [String] {
        get async { await http.lines.map { $0.replacingOccurrences(of: "http://127.0.0.1:1/photos", with: "") } }
    }

    /// The code of the error that `body` throws.
    func code(_ body: () async throws -> some Any) async -> CloakroomError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? CloakroomError)?.code
        }
    }
}

/// Bytes that differ everywhere.
func numbered(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0) }) }
