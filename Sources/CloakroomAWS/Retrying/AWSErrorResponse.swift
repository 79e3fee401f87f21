/// What an error document says.
///
/// S3 writes `<Error>`; STS wraps it into `<ErrorResponse>`, though not when SeaweedFS or Ceph speak for it.
package struct AWSErrorResponse: Equatable {
    package let code: String
    package let message: String
    /// Which precondition failed.
    let condition: String?
    /// Whether it says when a presigned URL ended.
    private let namesExpiration: Bool

    /// - Returns: `nil` when the bytes are no error document.
    package init?(_ body: [UInt8]) {
        guard let root = try? XMLReader.read(body) else { return nil }
        self.init(root)
    }

    init?(_ root: XMLElement) {
        let error: XMLElement
        if root.hasName("Error") {
            error = root
        } else {
            guard root.hasName("ErrorResponse"), let inner = root["Error"] else { return nil }
            error = inner
        }
        guard let code = error.text(of: "Code"), Self.isCode(code) else { return nil }
        self.code = code
        self.message = error.text(of: "Message") ?? ""
        self.condition = error.text(of: "Condition")
        namesExpiration = error["Expires"] != nil || error["X-Amz-Expires"] != nil
    }

    /// Whether it refuses a presigned URL because that has ended.
    ///
    /// Source: S3 as recorded in LocalStack's snapshots (`<Expires>`, `<X-Amz-Expires>`); MinIO, SeaweedFS and others say
    /// it in the message alone.
    package var isExpiredURL: Bool {
        code == "AccessDenied" && (namesExpiration || Self.isExpiredURL(message: message))
    }

    /// Whether it denies an action on a KMS key. S3 has no code for that, only a message that names the action.
    ///
    /// Source: Amazon S3 User Guide, "Troubleshoot access denied (403 Forbidden) errors in Amazon S3".
    var isKMSAccessDenied: Bool { code == "AccessDenied" && message.contains(" kms:") }

    package static func isExpiredURL(message: String) -> Bool { message.hasPrefix("Request has expired") }

    /// Codes go into logs and metrics: a word, nothing else.
    private static func isCode(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { isLetterOrDigit($0) || "._-".utf8.contains($0) }
    }
}
