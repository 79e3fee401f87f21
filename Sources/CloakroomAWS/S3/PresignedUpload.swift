package import CloakroomCrypto
package import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What an upload must be to be accepted.
package struct UploadTerms: Sendable, Equatable {
    package var contentType: String
    /// Exactly so many bytes; `nil` for any number.
    package var byteCount: Int?
    /// The SHA-256 of the bytes, in base64; `nil` for any bytes.
    package var checksum: String?
    /// An object that is already there stays.
    package var createsOnly: Bool
    /// At most seven days.
    package var lifetime: Duration

    package init(
        contentType: String, byteCount: Int? = nil, checksum: String? = nil, createsOnly: Bool = true,
        lifetime: Duration
    ) {
        self.contentType = contentType
        self.byteCount = byteCount
        self.checksum = checksum
        self.createsOnly = createsOnly
        self.lifetime = lifetime
    }
}

/// A presigned PUT of one object.
package struct PresignedUpload: Sendable, Equatable {
    /// A bearer URL: it needs no credentials.
    package let url: Secret
    /// What the upload must send besides `Host`, value for value.
    package let fields: HeaderFields
    package let expiration: Date
}
