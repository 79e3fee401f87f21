/// What an error document says.
///
/// S3 writes `<Error>`; STS wraps it into `<ErrorResponse>`, though not when SeaweedFS or Ceph speak for it.
package struct ErrorAnswer: Equatable {
    package let code: String
    package let message: String
    /// Which precondition failed.
    let condition: String?

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
    }

    /// Codes go into logs and metrics: a word, nothing else.
    private static func isCode(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { isLetterOrDigit($0) || isUppercase($0) || "._-".utf8.contains($0) }
    }
}
