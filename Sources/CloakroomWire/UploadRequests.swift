package import CloakroomJSON

/// The body is no JSON object of the members a route knows, or one of them is not what it should be.
///
/// An unknown name is refused, so that a misspelled limit is not ignored.
package struct UploadRequestError: Error, Sendable, Equatable {
    package init() {}
}

/// What an object is uploaded for, where that decides its place and its end.
package enum UploadPurpose: String, Sendable, CaseIterable {
    /// An image of a chat: behind a prefix of its own, never renewed, released by its uploader.
    case chat
}

/// The names in the query of ``Route/presignedUpload``.
package enum PutUploadParameter: String, Sendable, CaseIterable {
    case contentType
    /// In bytes.
    case contentLength
    /// SHA-256, in hexadecimal or base64.
    case sha256
    case purpose
    /// Clients may say it, and it is not used: nothing a client chose gets into a key.
    case filename
}

/// What ``Route/presignedPost`` takes, as it came.
package struct PostUploadRequest: WireEncodable {
    package var contentType: String?
    /// The most that the client will send; `nil` for what the settings allow.
    package var maximumBytes: Int?
    /// SHA-256, in hexadecimal or base64.
    package var sha256: String?
    /// `chat` for an image of a chat, which can be released; `nil` for any other object.
    package var purpose: String?

    package init(contentType: String, maximumBytes: Int?, sha256: String?, purpose: UploadPurpose? = nil) {
        self.contentType = contentType
        self.maximumBytes = maximumBytes
        self.sha256 = sha256
        self.purpose = purpose?.rawValue
    }

    package init(parsing body: [UInt8]) throws(UploadRequestError) {
        for member in try members(of: body) {
            switch member.name {
            case "contentType": contentType = try string(member.value)
            case "maximumBytes": maximumBytes = try integer(member.value)
            case "sha256": sha256 = try string(member.value)
            case "purpose": purpose = try string(member.value)
            // As for a presigned PUT: clients may say it, and it is not used.
            case "filename": _ = try string(member.value)
            default: throw UploadRequestError()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let contentType { writer.member("contentType", contentType) }
        if let maximumBytes { writer.member("maximumBytes", maximumBytes) }
        if let sha256 { writer.member("sha256", sha256) }
        if let purpose { writer.member("purpose", purpose) }
        writer.endObject()
    }
}

/// What ``Route/multipartUploads`` takes, as it came.
package struct MultipartUploadRequest: WireEncodable {
    package var contentType: String?
    /// Of the whole object.
    package var contentLength: Int?
    /// SHA-256 of the whole object, in hexadecimal or base64.
    package var sha256: String?
    /// `chat` for an image of a chat, which can be released; `nil` for any other object.
    package var purpose: String?

    package init(contentType: String, contentLength: Int, sha256: String?, purpose: UploadPurpose? = nil) {
        self.contentType = contentType
        self.contentLength = contentLength
        self.sha256 = sha256
        self.purpose = purpose?.rawValue
    }

    package init(parsing body: [UInt8]) throws(UploadRequestError) {
        for member in try members(of: body) {
            switch member.name {
            case "contentType": contentType = try string(member.value)
            case "contentLength": contentLength = try integer(member.value)
            case "sha256": sha256 = try string(member.value)
            case "purpose": purpose = try string(member.value)
            case "filename": _ = try string(member.value)
            default: throw UploadRequestError()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let contentType { writer.member("contentType", contentType) }
        if let contentLength { writer.member("contentLength", contentLength) }
        if let sha256 { writer.member("sha256", sha256) }
        if let purpose { writer.member("purpose", purpose) }
        writer.endObject()
    }
}

/// What ``Route/multipartCompletion`` takes.
package struct CompletionRequest: WireEncodable {
    /// The entity tag of each part, the first part's first, as S3 gave them; `nil`: as S3 has them.
    package var etags: [String]?

    package init(etags: [String]?) { self.etags = etags }

    /// - Parameter body: JSON; empty names no tags.
    package init(parsing body: [UInt8]) throws(UploadRequestError) {
        guard !body.isEmpty else { return }
        for member in try members(of: body) {
            if member.name == "etags", member.value == .null { continue }
            guard member.name == "etags", let tags = member.value.strings, (1...10_000).contains(tags.count),
                tags.allSatisfy({ (1...128).contains($0.utf8.count) })
            else { throw UploadRequestError() }
            etags = tags
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let etags {
            writer.plainName("etags")
            writer.beginArray()
            for tag in etags { writer.string(tag) }
            writer.endArray()
        }
        writer.endObject()
    }
}

private func members(of body: [UInt8]) throws(UploadRequestError) -> [JSON.Object.Member] {
    guard let object = (try? JSON(parsing: body, maximumDepth: 4))?.object else { throw UploadRequestError() }
    return object.members
}

/// - Returns: `nil` for null, which says nothing, as an absent member does.
private func string(_ json: JSON) throws(UploadRequestError) -> String? {
    guard json != .null else { return nil }
    guard let text = json.string else { throw UploadRequestError() }
    return text
}

private func integer(_ json: JSON) throws(UploadRequestError) -> Int? {
    guard json != .null else { return nil }
    guard let number = json.integer else { throw UploadRequestError() }
    return number
}
