import CloakroomCrypto
import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What may be uploaded, as the settings say and as S3 allows.
struct UploadRules: Sendable {
    /// Why a request is refused.
    enum Refusal: Error, Sendable, Equatable {
        case noContentType
        case contentType
        case noLength(name: String)
        case length(name: String, maximum: Int)
        case checksum
        case malformedQuery
        case malformedBody
        /// - Parameter count: of the parts there are.
        case partNumbers(count: Int)

        /// The response's.
        var sentence: String {
            switch self {
            case .noContentType: "contentType is required"
            case .contentType: "This content type cannot be uploaded"
            case .noLength(let name): "\(name) is required"
            case .length(let name, let maximum): "\(name) must be a number of bytes from 1 to \(maximum)"
            case .checksum: "sha256 must be a SHA-256 in hexadecimal or base64"
            case .malformedQuery: "Invalid query"
            case .malformedBody: "Invalid request body"
            case .partNumbers(let count):
                "numbers must name at most \(WireLimits.maximumPartsPerRequest) parts from 1 to \(count), such as "
                    + "1-\(min(count, WireLimits.maximumPartsPerRequest))"
            }
        }
    }

    let contentTypes: [String]
    /// Of any object.
    let maximumBytes: Int
    /// Whether a presigned PUT must say its length.
    let requiresContentLength: Bool
    /// What a presigned PUT without a length counts for.
    let assumedBytes: Int

    /// The largest object a single PUT or POST makes (Amazon S3 User Guide, "Uploading objects").
    private static let singleMaximum = 5 << 30

    init(_ settings: Settings.Uploads) {
        contentTypes = settings.contentTypes
        maximumBytes = settings.maximumBytes
        requiresContentLength = settings.requiresContentLength
        assumedBytes = min(settings.assumedBytes, settings.maximumBytes)
    }

    /// Of an object that is uploaded with a single PUT or POST.
    var maximumBytesAtOnce: Int { min(maximumBytes, Self.singleMaximum) }

    func contentType(_ type: String?) throws(Refusal) -> String {
        guard let type, !type.isEmpty else { throw .noContentType }
        guard contentTypes.contains(type) else { throw .contentType }
        return type
    }

    func length(_ count: Int, named name: String, upTo maximum: Int) throws(Refusal) -> Int {
        guard count >= 1, count <= maximum else { throw .length(name: name, maximum: maximum) }
        return count
    }

    /// - Returns: the digest's bytes.
    func checksum(_ text: String) throws(Refusal) -> [UInt8] {
        let isHexadecimal = text.utf8.count == 2 * SHA256.byteCount
        let bytes = isHexadecimal ? [UInt8](hexadecimal: text.utf8) : Data(base64Encoded: text).map(Array.init)
        guard let bytes, bytes.count == SHA256.byteCount else { throw .checksum }
        return bytes
    }
}
