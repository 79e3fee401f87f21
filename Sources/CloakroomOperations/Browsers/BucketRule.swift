package import CloakroomAWS
package import CloakroomServer

/// The bucket's rule for the web pages of `web.origins`.
package enum BucketRule {
    package static let id = "cloakroom-browsers"
    package static let methods = ["GET", "HEAD", "PUT", "POST", "DELETE"]
    /// What uploads and reads need besides the body: `ETag` to complete a multipart upload, `Location` after a form.
    package static let exposed = [
        "ETag", "Location", "x-amz-version-id", "x-amz-checksum-sha256", "x-amz-expiration", "Content-Range",
        "Accept-Ranges",
    ]
    /// What a page sends that signs its requests itself, or uploads with a presigned URL.
    static let sent = [
        "authorization", "content-type", "x-amz-checksum-sha256", "x-amz-content-sha256", "x-amz-date",
        "x-amz-security-token",
    ]
    private static let maximumAge = 3600

    /// - Returns: `nil` without origins.
    package static func rule(_ web: Settings.Web) -> CORSRule? { web.origins.isEmpty ? nil : rule(web.origins) }

    /// Whether a rule is an earlier one of ours. Stores that keep no names are told by all that it says but its origins.
    static func isOurs(_ other: CORSRule) -> Bool {
        other.id == id || other.id.isEmpty && rule([]).differsInOriginsAlone(from: other)
    }

    private static func rule(_ origins: [String]) -> CORSRule {
        CORSRule(
            id: id, origins: origins, methods: methods, headers: ["*"], exposed: exposed, maximumAge: maximumAge)
    }
}

extension CORSRule {
    /// In a line, for people.
    package var words: String {
        let name = id.isEmpty ? "without a name" : "\"\(id)\""
        let headers = headers.isEmpty ? "no header fields" : "the header fields \(headers.joined(separator: ", "))"
        let exposed = exposed.isEmpty ? "no more than usual" : "also \(exposed.joined(separator: ", "))"
        let strange = unknown.isEmpty ? "" : "; what this version does not know: \(unknown.joined(separator: ", "))"
        return "\(name): pages of \(origins.joined(separator: ", ")) may send \(methods.joined(separator: ", "))"
            + " with \(headers), and read \(exposed)\(strange)"
    }
}
