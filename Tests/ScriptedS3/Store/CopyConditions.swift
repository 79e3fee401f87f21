/// The conditions on the source of a copy.
///
/// Order, names in `Condition`, and that a future date is ignored for If-Modified-Since: LocalStack
/// `test_s3_copy_object_preconditions`, `test_s3_copy_object_if_source_unmodified_since_versioned`, validated on AWS.
/// That an entity tag which matches outweighs If-Unmodified-Since, and one that does not match outweighs
/// If-Modified-Since: API Reference, CopyObject.
struct CopyConditions {
    let request: S3Request

    func check(_ source: StoredVersion, now: Double) throws(S3Error) {
        let written = source.lastModified.rounded(.down)
        let prefix = "x-amz-copy-source-If-"
        var isTagFound = false
        if let tag = request.field("x-amz-copy-source-if-match") {
            guard Self.matches(tag, source) else { throw .preconditionFailed(prefix + "Match") }
            isTagFound = true
        }
        if !isTagFound, let since = date("unmodified-since"), written > since {
            throw .preconditionFailed(prefix + "Unmodified-Since")
        }
        if let tag = request.field("x-amz-copy-source-if-none-match") {
            guard !Self.matches(tag, source) else { throw .preconditionFailed(prefix + "None-Match") }
            return
        }
        if let since = date("modified-since"), since <= now, written <= since {
            throw .preconditionFailed(prefix + "Modified-Since")
        }
    }

    private func date(_ name: String) -> Double? {
        request.field("x-amz-copy-source-if-\(name)").flatMap { S3Timestamp(http: $0)?.seconds }
    }

    static func matches(_ tag: String, _ version: StoredVersion) -> Bool {
        tag.filter { $0 != "\"" } == version.entityTag.filter { $0 != "\"" }
    }
}
