/// Who may call, and what they may not.
package struct ScriptedIdentity: Sendable {
    package var accessKeyID: String
    package var secretAccessKey: String
    /// Of temporary credentials: must come with every request.
    package var sessionToken: String?
    package var isExpired = false
    /// Actions such as `s3:ListBucket` or `s3:GetObjectTagging`.
    package var denied: Set<String> = []
    /// Keys of KMS that it may not use. S3's refusal names no action of KMS, as that of another account's key.
    package var deniedKMSKeys: Set<String> = []
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

    /// HEAD needs no key, as long as it does not ask for checksums (API Reference, HeadObject, "Permissions").
    func requireKey(of version: StoredVersion) throws(S3Error) {
        if case .kms(let key, _) = version.encryption, deniedKMSKeys.contains(key) { throw .accessDenied }
    }

    func require(_ action: String, _ key: String? = nil) throws(S3Error) {
        guard may(action, key) else { throw .accessDenied }
    }
}
