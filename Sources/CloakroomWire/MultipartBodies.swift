package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The response of ``Route/multipartUploads``: a multipart upload has begun.
package struct MultipartUploadBody: WireBody, Codable {
    /// Names the upload in the other routes; valid for the user who began it alone.
    package var uploadId: String
    package var objectKey: String
    /// Where the object can be read once the upload is complete.
    package var assetUrl: String
    /// Every part but the last has so many bytes.
    package var partBytes: Int
    package var partCount: Int
    /// Until when the id is good.
    package var expiresAt: Date
    /// What releases the image of a chat before its time, by the user who uploads it; `nil` for other uploads.
    package var releaseToken: String?

    package init(
        uploadId: String, objectKey: String, assetUrl: String, partBytes: Int, partCount: Int, expiresAt: Date,
        releaseToken: String? = nil
    ) {
        self.uploadId = uploadId
        self.objectKey = objectKey
        self.assetUrl = assetUrl
        self.partBytes = partBytes
        self.partCount = partCount
        self.expiresAt = expiresAt
        self.releaseToken = releaseToken
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("uploadId", uploadId)
        writer.member("objectKey", objectKey)
        writer.member("assetUrl", assetUrl)
        writer.plainName("partBytes")
        writer.integer(partBytes)
        writer.plainName("partCount")
        writer.integer(partCount)
        writer.member("expiresAt", expiresAt)
        if let releaseToken { writer.member("releaseToken", releaseToken) }
        writer.endObject()
    }
}

/// The response of ``Route/multipartParts``: where to PUT the requested parts.
package struct MultipartPartsBody: WireBody, Codable {
    package struct Part: Sendable, Equatable, Codable {
        /// From 1.
        package var partNumber: Int
        /// A bearer URL: valid without credentials until ``MultipartPartsBody/expiresAt``.
        package var uploadUrl: String
        /// Exactly so many bytes.
        package var contentLength: Int

        package init(partNumber: Int, uploadUrl: String, contentLength: Int) {
            self.partNumber = partNumber
            self.uploadUrl = uploadUrl
            self.contentLength = contentLength
        }
    }

    package var parts: [Part]
    package var partBytes: Int
    package var partCount: Int
    package var expiresAt: Date

    package init(parts: [Part], partBytes: Int, partCount: Int, expiresAt: Date) {
        self.parts = parts
        self.partBytes = partBytes
        self.partCount = partCount
        self.expiresAt = expiresAt
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.plainName("partBytes")
        writer.integer(partBytes)
        writer.plainName("partCount")
        writer.integer(partCount)
        writer.member("expiresAt", expiresAt)
        writer.plainName("parts")
        writer.beginArray()
        for part in parts {
            writer.beginObject()
            writer.plainName("partNumber")
            writer.integer(part.partNumber)
            writer.member("uploadUrl", part.uploadUrl)
            writer.plainName("contentLength")
            writer.integer(part.contentLength)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}

extension MultipartPartsBody: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(parts.count) of \(partCount) parts until \(expiresAt.wireText)" }
    package var customMirror: Mirror { Mirror(self, children: ["partCount": partCount, "expiresAt": expiresAt]) }
}

/// The response of ``Route/multipartCompletion``, and of ``Route/multipartUpload`` when the upload was given up.
package struct UploadedBody: WireBody, Codable {
    package var objectKey: String
    /// `nil` when there is no object.
    package var assetUrl: String?

    package init(objectKey: String, assetUrl: String?) {
        self.objectKey = objectKey
        self.assetUrl = assetUrl
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("objectKey", objectKey)
        if let assetUrl { writer.member("assetUrl", assetUrl) }
        writer.endObject()
    }
}

extension MultipartUploadBody: CustomStringConvertible, CustomReflectable {
    package var description: String { "upload of \(objectKey) until \(expiresAt.wireText)" }
    package var customMirror: Mirror { Mirror(self, children: ["objectKey": objectKey, "expiresAt": expiresAt]) }
}
