import CloakroomCrypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a client says of the object it wants to upload.
package struct UploadRequest: Sendable, Equatable {
    /// Why it is refused; the raw value is the answer's sentence.
    package enum Failure: String, Error, Sendable, CaseIterable {
        case noContentType = "contentType is required"
        case contentType = "This content type cannot be uploaded"
        case contentLength = "contentLength must be a number of bytes from 1 to 5368709120"
        case checksum = "sha256 must be a SHA-256 in hexadecimal or base64"
        case malformed = "Invalid query"
    }

    package let contentType: String
    /// In bytes.
    package let contentLength: Int?
    /// In base64, as S3 takes it.
    package let checksum: String?

    /// The largest object a single PUT makes (Amazon S3 User Guide, "Uploading objects").
    private static let maximumBytes = 5 << 30

    /// - Parameter query: `filename` may be in it and is not used: nothing a client chose gets into a key.
    package init(query: String, allowedTypes: [String]) throws(Failure) {
        guard let parameters = QueryParameters(query) else { throw .malformed }
        guard let type = parameters["contentType"], !type.isEmpty else { throw .noContentType }
        guard allowedTypes.contains(type) else { throw .contentType }
        contentType = type
        contentLength = try parameters["contentLength"].map { (text) throws(Failure) in
            guard let count = Int(text), (1...Self.maximumBytes).contains(count) else { throw .contentLength }
            return count
        }
        checksum = try parameters["sha256"].map { (text) throws(Failure) in
            guard let digest = Self.digest(text) else { throw .checksum }
            return Data(digest).base64EncodedString()
        }
    }

    private static func digest(_ text: String) -> [UInt8]? {
        let isHexadecimal = text.utf8.count == 2 * SHA256.byteCount
        let bytes = isHexadecimal ? hexadecimal(text) : Data(base64Encoded: text).map(Array.init)
        return bytes?.count == SHA256.byteCount ? bytes : nil
    }

    private static func hexadecimal(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
        }
    }
}
