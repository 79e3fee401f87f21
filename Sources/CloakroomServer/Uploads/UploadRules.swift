import CloakroomAWS
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
        /// The same, by its name on Companion's wire.
        case noType
        case contentType
        case noLength(name: String)
        case length(name: String, maximum: Int)
        case checksum
        case purpose
        /// There are no images of chats here.
        case chatNotEnabled
        case malformedQuery
        case malformedBody
        /// Of a part on Companion's wire, where how many there are is not known.
        /// - Parameter maximum: of the numbers.
        case partNumber(maximum: Int)
        case metadata
        /// - Parameter count: of the parts there are.
        case partNumbers(count: Int)

        /// The response's.
        var sentence: String {
            switch self {
            case .noContentType: "contentType is required"
            case .noType: "type is required"
            case .contentType: "This content type cannot be uploaded"
            case .noLength(let name): "\(name) is required"
            case .length(let name, let maximum): "\(name) must be a number of bytes from 1 to \(maximum)"
            case .checksum: "sha256 must be a SHA-256 in hexadecimal or base64"
            case .purpose: "purpose must be \"chat\", or absent"
            case .chatNotEnabled: "Images of chats are not set up here"
            case .malformedQuery: "Invalid query"
            case .malformedBody: "Invalid request body"
            case .partNumber(let maximum):
                "Parts have numbers from 1 to \(maximum), and at most \(WireLimits.maximumPartsPerRequest) are signed at once"
            case .metadata:
                "metadata must have names of letters, digits, dots, hyphens and underscores, and at most"
                    + " \(CompanionParameters.maximumMetadataBytes) bytes"
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
    /// Whether images of chats have a place of their own.
    let takesChat: Bool

    /// The largest object a single PUT or POST makes (Amazon S3 User Guide, "Uploading objects").
    private static let singleMaximum = 5 << 30

    init(_ settings: Settings.Uploads) {
        contentTypes = settings.contentTypes
        maximumBytes = settings.maximumBytes
        requiresContentLength = settings.requiresContentLength
        assumedBytes = min(settings.assumedBytes, settings.maximumBytes)
        takesChat = settings.chat != nil
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

    /// - Returns: `nil` for an object that is kept as all others.
    func purpose(_ text: String?) throws(Refusal) -> UploadPurpose? {
        guard let text else { return nil }
        guard let purpose = UploadPurpose(rawValue: text) else { throw .purpose }
        guard takesChat else { throw .chatNotEnabled }
        return purpose
    }

    /// - Returns: the digest's bytes.
    func checksum(_ text: String) throws(Refusal) -> [UInt8] {
        let isHexadecimal = text.utf8.count == 2 * SHA256.byteCount
        let bytes = isHexadecimal ? [UInt8](hexadecimal: text.utf8) : Data(base64Encoded: text).map(Array.init)
        guard let bytes, bytes.count == SHA256.byteCount else { throw .checksum }
        return bytes
    }
}

/// The name of an object to be, and where it can be read then.
struct NewAsset: Sendable {
    let key: String
    let object: ObjectAddress
    let url: String

    /// - Parameter baseURL: without a trailing `/`.
    init?(key: String, baseURL: String) {
        guard let object = ObjectAddress(key: key) else { return nil }
        self.key = key
        self.object = object
        url = "\(baseURL)/\(object.encodedKey)"
    }
}

/// Draws names that tell nothing: 128 random bits and one ending for all, neither what the object is nor whose.
struct AssetNames: Sendable {
    let keyPrefix: String
    let baseURL: String
    let randomBytes: @Sendable (Int) -> [UInt8]

    func next() throws(AWSError) -> NewAsset {
        try named(keyPrefix + randomBytes(16).hexadecimal + ".bin")
    }

    func named(_ key: String) throws(AWSError) -> NewAsset {
        guard let asset = NewAsset(key: key, baseURL: baseURL) else { throw AWSError(.refused, code: "InvalidKey") }
        return asset
    }

    /// The same behind another prefix.
    func under(_ keyPrefix: String) -> AssetNames {
        AssetNames(keyPrefix: keyPrefix, baseURL: baseURL, randomBytes: randomBytes)
    }

    /// - Returns: a name where objects of that purpose are; for an image of a chat with what releases it.
    func next(
        for purpose: UploadPurpose?, of user: UserID, chat: ChatNames?
    ) throws(AWSError) -> (asset: NewAsset, releaseToken: String?) {
        switch purpose {
        case nil: return (try next(), nil)
        case .chat:
            // ``UploadRules`` lets no such request in where there are none.
            guard let chat else { throw AWSError(.refused, code: "ChatNotEnabled") }
            let asset = try chat.names.next()
            return (asset, chat.tokens.token(for: asset.key, of: user))
        }
    }
}

/// Names of images of chats, and what releases them.
struct ChatNames: Sendable {
    let names: AssetNames
    let tokens: ReleaseTokens

    init(_ names: AssetNames, _ tokens: ReleaseTokens) {
        self.names = names
        self.tokens = tokens
    }
}

/// What a client says of the object that it wants to PUT.
struct PutUploadParameters: Sendable, Equatable {
    let contentType: String
    /// In bytes.
    let contentLength: Int?
    /// In base64, as S3 takes it.
    let checksum: String?
    let purpose: UploadPurpose?

    /// - Parameter query: with names of ``PutUploadParameter``; others are ignored.
    init(query: String, rules: UploadRules) throws(UploadRules.Refusal) {
        guard let parameters = QueryParameters(query) else { throw .malformedQuery }
        purpose = try rules.purpose(parameters[.purpose])
        contentType = try rules.contentType(parameters[.contentType])
        if let text = parameters[.contentLength] {
            contentLength = try rules.length(
                QueryParameters.integer(text) ?? 0, named: "contentLength", upTo: rules.maximumBytesAtOnce)
        } else {
            guard !rules.requiresContentLength else { throw .noLength(name: "contentLength") }
            contentLength = nil
        }
        checksum = try parameters[.sha256].map { (text) throws(UploadRules.Refusal) in
            Data(try rules.checksum(text)).base64EncodedString()
        }
    }
}

/// What a client says of the object that it wants to send as a form.
struct PostUploadParameters: Sendable, Equatable {
    let contentType: String
    /// In bytes.
    let maximumBytes: Int
    /// In base64, as S3 takes it.
    let checksum: String?
    let purpose: UploadPurpose?

    init(parsing body: [UInt8], rules: UploadRules) throws(UploadRules.Refusal) {
        guard let asked = try? PostUploadRequest(parsing: body) else { throw .malformedBody }
        purpose = try rules.purpose(asked.purpose)
        contentType = try rules.contentType(asked.contentType)
        maximumBytes = try rules.length(
            asked.maximumBytes ?? rules.maximumBytesAtOnce, named: "maximumBytes", upTo: rules.maximumBytesAtOnce)
        checksum = try asked.sha256.map { (text) throws(UploadRules.Refusal) in
            Data(try rules.checksum(text)).base64EncodedString()
        }
    }
}

/// What a client says of the object of a multipart upload.
struct MultipartUploadParameters: Sendable, Equatable {
    let contentType: String
    let plan: MultipartLayout
    /// In hexadecimal. S3 cannot check it: it knows no SHA-256 over several parts.
    let checksum: String?
    let purpose: UploadPurpose?

    init(parsing body: [UInt8], rules: UploadRules) throws(UploadRules.Refusal) {
        guard let asked = try? MultipartUploadRequest(parsing: body) else { throw .malformedBody }
        purpose = try rules.purpose(asked.purpose)
        contentType = try rules.contentType(asked.contentType)
        guard let length = asked.contentLength else { throw .noLength(name: "contentLength") }
        plan = MultipartLayout(byteCount: try rules.length(length, named: "contentLength", upTo: rules.maximumBytes))
        checksum = try asked.sha256.map { (text) throws(UploadRules.Refusal) in try rules.checksum(text).hexadecimal }
    }
}

extension QueryParameters {
    subscript(parameter: PutUploadParameter) -> String? { self[parameter.rawValue] }
}
