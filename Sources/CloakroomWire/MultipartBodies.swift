package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What ``Route/multipartUploads`` answers: an upload in parts has begun.
package struct MultipartUploadBody: WireBody, Codable {
    /// Names the upload in the other routes, for whoever began it and nobody else.
    package var uploadId: String
    package var objectKey: String
    /// Where the object can be read once the upload is complete.
    package var assetUrl: String
    /// Every part but the last has so many bytes.
    package var partBytes: Int
    package var partCount: Int
    /// Until when the id is good.
    package var expiresAt: Date

    package init(
        uploadId: String, objectKey: String, assetUrl: String, partBytes: Int, partCount: Int, expiresAt: Date
    ) {
        self.uploadId = uploadId
        self.objectKey = objectKey
        self.assetUrl = assetUrl
        self.partBytes = partBytes
        self.partCount = partCount
        self.expiresAt = expiresAt
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
        writer.endObject()
    }
}

/// What ``Route/multipartParts`` answers: where to PUT the parts that were asked for.
package struct MultipartPartsBody: WireBody, Codable {
    package struct Part: Sendable, Equatable, Codable {
        /// From 1.
        package var partNumber: Int
        /// Whoever has it may upload that part until ``MultipartPartsBody/expiresAt``.
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

/// What ``Route/multipartCompletion`` answers, and ``Route/multipartUpload`` when the upload was given up.
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
