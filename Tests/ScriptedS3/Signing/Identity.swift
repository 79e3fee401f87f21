/// Who may call, and what they may not.
package struct ScriptedIdentity: Sendable {
    package var accessKeyID: String
    package var secretAccessKey: String
    /// Of temporary credentials: must come with every request.
    package var sessionToken: String?
    package var isExpired = false
    /// Actions such as `s3:ListBucket` or `s3:GetObjectTagging`.
    package var denied: Set<String> = []
    /// Where keys must begin; `nil` for everywhere.
    package var prefixes: [String]?

    package init(accessKeyID: String = "AKIDSCRIPTED", secretAccessKey: String = "scripted-secret") {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
    }

    func may(_ action: String, _ key: String? = nil) -> Bool {
        guard !denied.contains(action) else { return false }
        guard let prefixes, let key else { return true }
        return prefixes.contains { key.hasPrefix($0) }
    }

    func require(_ action: String, _ key: String? = nil) throws(S3Failure) {
        guard may(action, key) else { throw .accessDenied }
    }
}
