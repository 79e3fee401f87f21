package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The response of ``Route/presignedPost``: the form that uploads one object.
package struct PostUploadBody: WireBody, Codable {
    package var objectKey: String
    /// Where the form goes, as `multipart/form-data`.
    package var uploadUrl: String
    /// What the form holds besides `file`, which comes last; valid without credentials until ``expiresAt``.
    package var fields: [String: String]
    package var assetUrl: String
    /// More is refused by the store.
    package var maximumBytes: Int
    package var expiresAt: Date
    /// What releases the image of a chat before its time, by the user who uploads it; `nil` for other uploads.
    package var releaseToken: String?

    package init(
        objectKey: String, uploadUrl: String, fields: [String: String], assetUrl: String, maximumBytes: Int,
        expiresAt: Date, releaseToken: String? = nil
    ) {
        self.objectKey = objectKey
        self.uploadUrl = uploadUrl
        self.fields = fields
        self.assetUrl = assetUrl
        self.maximumBytes = maximumBytes
        self.expiresAt = expiresAt
        self.releaseToken = releaseToken
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("objectKey", objectKey)
        writer.member("uploadUrl", uploadUrl)
        writer.plainName("fields")
        writer.beginObject()
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            writer.name(name)
            writer.string(value)
        }
        writer.endObject()
        writer.member("assetUrl", assetUrl)
        writer.plainName("maximumBytes")
        writer.integer(maximumBytes)
        writer.member("expiresAt", expiresAt)
        if let releaseToken { writer.member("releaseToken", releaseToken) }
        writer.endObject()
    }
}

extension PostUploadBody: CustomStringConvertible, CustomReflectable {
    package var description: String { "form for \(objectKey) until \(expiresAt.wireText)" }
    package var customMirror: Mirror { Mirror(self, children: ["objectKey": objectKey, "expiresAt": expiresAt]) }
}
