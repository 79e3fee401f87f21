import CloakroomJSON

/// A `credential_process` of a profile: a program that writes credentials.
///
/// Source: AWS SDKs and Tools Reference Guide, "Process credential provider".
struct ProcessProvider {
    let command: String
    let dependencies: CredentialChainDependencies

    func credentials() async throws(CredentialProviderError) -> Credentials {
        guard let words = Self.words(of: command), !words.isEmpty else {
            throw .failed("credential_process has a quote that does not end")
        }
        let output = try await dependencies.run(words)
        let object: JSON.Object
        do { object = try CredentialDocument.object(output) } catch {
            throw .failed("credential_process wrote no JSON object")
        }
        guard object["Version"]?.integer == 1 else { throw .failed("credential_process wrote no \"Version\": 1") }
        return try CredentialDocument.credentials(in: object, tokenName: "SessionToken", requiresExpiration: false)
    }

    /// Splits as a shell would, without being one: quotes and backslashes, nothing else.
    ///
    /// - Returns: `nil` when a quote does not end.
    static func words(of command: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var isEscaped = false
        for character in command {
            if isEscaped {
                // Between double quotes a backslash is one, but before a quote or another.
                if quote != nil, character != "\"", character != "\\" { word?.append("\\") }
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                word = word ?? ""
                isEscaped = true
            } else if let open = quote {
                if character == open { quote = nil } else { word?.append(character) }
            } else if character == "'" || character == "\"" {
                word = word ?? ""
                quote = character
            } else if character.isWhitespace {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard quote == nil, !isEscaped else { return nil }
        if let word { words.append(word) }
        return words
    }
}
