import CloakroomWire
import Foundation
import Testing

@testable import CloakroomKit

/// Numbers with which an app would go wrong: it never gets them.
@Suite struct HostileResponseTests {
    private let end = Date(timeIntervalSince1970: 1_795_186_800)

    private func code(of body: some WireBody, _ call: (CloakroomClient) async throws -> Void) async
        -> CloakroomError.Code?
    {
        let http = ScriptedHTTP(.json(200, String(decoding: body.encoded, as: UTF8.self)))
        do {
            try await call(.test(http))
            return nil
        } catch {
            return (error as? CloakroomError)?.code
        }
    }

    @Test(arguments: [
        (8, 2, nil), (8, 10_000, nil), (8, 0, CloakroomError.Code.invalidResponse), (8, -1, .invalidResponse),
        (8, 1_000_000_000_000, .invalidResponse), (0, 2, .invalidResponse), (.min, 2, .invalidResponse),
        (5 << 30, 2, nil), ((5 << 30) + 1, 2, .invalidResponse), (.max, 2, .invalidResponse),
    ])
    func `an upload has from one to ten thousand parts of some bytes`(
        partBytes: Int, partCount: Int, code: CloakroomError.Code?
    ) async {
        let body = MultipartUploadBody(
            uploadId: "u", objectKey: "k", assetUrl: "https://cdn.example/k", partBytes: partBytes,
            partCount: partCount, expiresAt: end)
        let found = await self.code(of: body) {
            _ = try await $0.beginMultipartUpload(contentType: "video/mp4", byteCount: 11)
        }
        #expect(found == code)
    }

    @Test(arguments: [
        (2, 8, nil), (3, 0, nil), (1, 8, CloakroomError.Code.invalidResponse), (4, 8, .invalidResponse),
        (2, -1, .invalidResponse), (2, 5 << 30, nil), (2, (5 << 30) + 1, .invalidResponse), (2, .max, .invalidResponse),
    ])
    func `a response about parts is about those that were asked for`(
        number: Int, byteCount: Int, code: CloakroomError.Code?
    ) async {
        let part = MultipartPartsBody.Part(
            partNumber: number, uploadUrl: "https://s3.example/k", contentLength: byteCount)
        let body = MultipartPartsBody(parts: [part], partBytes: 8, partCount: 9, expiresAt: end)
        let found = await self.code(of: body) { _ = try await $0.multipartUploadParts(of: "u", numbers: 2...3) }
        #expect(found == code)
    }
}
