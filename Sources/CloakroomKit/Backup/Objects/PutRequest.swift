import CloakroomAWS
import CloakroomHTTP

/// The validated parameters of an object that is to be stored.
struct PutRequest: Sendable {
    let contentType: String
    /// Names in lower case.
    let metadata: [String: String]
    let condition: PutCondition
    let md5: [UInt8]?
    let progress: TransferProgress.Observer?

    init(
        _ contentType: String, _ metadata: [String: String], _ condition: ObjectCondition, md5: [UInt8]?,
        _ progress: TransferProgress.Observer?
    ) throws(CloakroomError) {
        guard md5 == nil || md5?.count == 16 else { throw CloakroomError(.invalidRequest, "an MD5 has 16 bytes") }
        try ObjectFields.check(contentType: contentType, metadata: metadata)
        self.contentType = contentType
        var lowercased: [String: String] = [:]
        for (name, value) in metadata { lowercased[name.lowercased()] = value }
        self.metadata = lowercased
        self.condition =
            switch condition {
            case .none: .none
            case .isNew: .ifNoneMatch
            case .isStill(let tag): .ifMatch(entityTag: tag)
            }
        self.md5 = md5
        self.progress = progress
    }

    /// - Parameter partSize: for a multipart upload.
    func metadataFields(partSize: Int? = nil) -> HeaderFields {
        ObjectFields.fields(metadata: metadata, partSize: partSize)
    }
}
