import CloakroomCrypto
import CloakroomJSON

/// Credentials as JSON: what the container endpoint, the instance's metadata and a `credential_process` write.
enum CredentialDocument {
    private static let maximumBytes = 65_536

    /// - Parameters:
    ///   - tokenName: `Token` or `SessionToken`.
    ///   - requiresExpiration: whether token and expiration have to be there.
    /// - Throws: what is wrong with it, without showing any of it.
    static func credentials(
        in object: JSON.Object, tokenName: String, requiresExpiration: Bool
    ) throws(CredentialProviderError) -> Credentials {
        guard let id = word(object["AccessKeyId"]) else { throw .failed("the response has no AccessKeyId") }
        guard let secret = word(object["SecretAccessKey"]) else { throw .failed("the response has no SecretAccessKey") }
        let token = word(object[tokenName])
        if requiresExpiration, token == nil { throw .failed("the response has no \(tokenName)") }
        let end = object["Expiration"].flatMap { $0 == .null ? nil : $0 }
        let expiration = end?.string.flatMap { Timestamp(iso8601: $0) }?.date
        if requiresExpiration || end != nil, expiration == nil {
            throw .failed("the response has no Expiration that is a time in UTC")
        }
        return Credentials(
            accessKeyID: id, secretAccessKey: Secret(secret), sessionToken: token.map { Secret($0) },
            expiration: expiration)
    }

    static func object(_ bytes: [UInt8]) throws(CredentialProviderError) -> JSON.Object {
        guard bytes.count <= maximumBytes, let object = (try? JSON(parsing: bytes))?.object else {
            throw .failed("the response is no JSON object")
        }
        return object
    }

    /// Visible ASCII: it goes into header fields.
    private static func word(_ json: JSON?) -> String? {
        guard let text = json?.string, !text.isEmpty, text.utf8.allSatisfy(isVisible) else {
            return nil
        }
        return text
    }
}
