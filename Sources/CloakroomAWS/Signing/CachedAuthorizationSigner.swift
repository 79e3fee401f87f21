import CloakroomCrypto

/// The second and the third stage made ready: from a canonical request to the value of `authorization`.
///
/// Holds for requests of one second that sign the same fields.
struct CachedAuthorizationSigner {
    /// Everything before the hash.
    private let stringToSign: [UInt8]
    /// Everything before the signature.
    private let authorization: [UInt8]
    private let key: SigningKey

    init(_ request: CanonicalRequest, with credentials: Credentials, key: SigningKey, timestamp: String) {
        stringToSign = SigV4.stringToSign(timestamp: timestamp, key: key)
        authorization = SigV4.authorization(request.signedHeaders, credentials: credentials, key: key)
        self.key = key
    }

    func authorization(of canonicalRequest: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(stringToSign.count + 2 * SHA256.byteCount)
        text.append(contentsOf: stringToSign)
        text.append(hexadecimal: SHA256.hash(canonicalRequest))
        var value: [UInt8] = []
        value.reserveCapacity(authorization.count + 2 * SHA256.byteCount)
        value.append(contentsOf: authorization)
        value.append(hexadecimal: key.authenticate(text))
        return value
    }
}
