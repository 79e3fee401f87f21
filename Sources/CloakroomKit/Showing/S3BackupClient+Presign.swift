import CloakroomAWS
import Foundation

extension S3BackupClient {
    /// Presigns a GET of one object, on this device: no request is sent while there are credentials.
    ///
    /// The URL ends with the credentials at the latest, so it may hold for less than `lifetime`:
    /// ``PresignedURL/expiration`` says. Whether there is such an object, only reading it shows. A wrong clock of the
    /// device is corrected by what the worker's and S3's responses have said.
    ///
    /// - Parameters:
    ///   - lifetime: 1 second to 7 days, as S3 has it; rounded down to a second.
    ///   - responseContentType: what S3 calls its type in the response; `nil` for what was stored with it.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidRequest``; why there are no credentials.
    public func presignedURL(
        for key: String, expiresIn lifetime: Duration = .seconds(900), responseContentType: String? = nil
    ) async throws -> PresignedURL {
        guard lifetime >= .seconds(1), lifetime <= Self.longestLifetime else {
            throw CloakroomError(.invalidRequest, "a presigned URL holds for 1 second to 7 days")
        }
        if let responseContentType { try Self.check(contentType: responseContentType) }
        return try await performing("presigning", key) { target in
            let signed = try await target.s3.presignDownload(
                target.object, contentType: responseContentType, lifetime: lifetime, offset: await clockOffset)
            guard let url = URL(string: signed.url.reveal()) else {
                throw CloakroomError(.invalidRequest, "presigning \(key): the endpoint makes no URL")
            }
            return PresignedURL(url: url, key: key, expiration: signed.expiration)
        }
    }

    /// Source: S3 API Reference, "Authenticating Requests: Using Query Parameters", `X-Amz-Expires`.
    private static let longestLifetime = Duration.seconds(604_800)

    private static func check(contentType: String) throws(CloakroomError) {
        guard (1...255).contains(contentType.utf8.count), contentType.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw CloakroomError(.invalidRequest, "a content type is 1 to 255 printable ASCII characters") }
    }
}
