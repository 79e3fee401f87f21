package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The response of ``Route/presignedUpload``: where to PUT one object, and where it can be read afterwards.
package struct UploadBody: WireBody, Codable {
    package var objectKey: String
    /// A bearer URL: valid without credentials until ``expiresAt``.
    package var uploadUrl: String
    package var assetUrl: String
    /// The same as ``assetUrl``, under the name older clients read.
    package var url: String
    package var expiresAt: Date
    /// What the client must send with its PUT, exactly.
    package var headers: [String: String]
    /// What releases the image of a chat before its time, by the user who uploads it; `nil` for other uploads.
    package var releaseToken: String?

    package init(
        objectKey: String, uploadUrl: String, assetUrl: String, expiresAt: Date, headers: [String: String],
        releaseToken: String? = nil
    ) {
        self.objectKey = objectKey
        self.uploadUrl = uploadUrl
        self.assetUrl = assetUrl
        self.url = assetUrl
        self.expiresAt = expiresAt
        self.headers = headers
        self.releaseToken = releaseToken
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("objectKey", objectKey)
        writer.member("uploadUrl", uploadUrl)
        writer.member("assetUrl", assetUrl)
        writer.member("url", url)
        writer.member("expiresAt", expiresAt)
        writer.plainName("headers")
        writer.beginObject()
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            writer.name(name)
            writer.string(value)
        }
        writer.endObject()
        if let releaseToken { writer.member("releaseToken", releaseToken) }
        writer.endObject()
    }
}

extension UploadBody: CustomStringConvertible, CustomReflectable {
    package var description: String { "upload of \(objectKey) until \(expiresAt.wireText)" }
    package var customMirror: Mirror { Mirror(self, children: ["objectKey": objectKey, "expiresAt": expiresAt]) }
}

/// What a client reads of ``Route/presignedUpload``'s response: also where an older backend knows neither when the URL
/// ends nor what to send, and has one of the two URLs for reading alone.
package struct ReceivedUploadBody: Sendable, Equatable, Decodable {
    package var objectKey: String
    package var uploadUrl: String
    package var assetUrl: String?
    package var url: String?
    package var expiresAt: Date?
    package var headers: [String: String]?
    package var releaseToken: String?
}

extension ReceivedUploadBody: CustomStringConvertible, CustomReflectable {
    package var description: String { "upload of \(objectKey)" }
    package var customMirror: Mirror { Mirror(self, children: ["objectKey": objectKey]) }
}
