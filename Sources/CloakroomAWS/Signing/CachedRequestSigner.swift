import CloakroomCrypto
package import CloakroomHTTP

/// What many requests have in common, made canonical once: all but the path and one field's value.
///
/// Holds for one second, the one of `x-amz-date`, and for services that sign the path as it is sent, as S3 does.
package struct CachedRequestSigner {
    // Stands for the open field's value while the canonical request is divided there; no value that is sent can be this.
    private static let open: [UInt8] = [0]

    private let openField: String
    /// Sent as they are; without the open field and `authorization`.
    private let fields: HeaderFields
    /// The canonical request before the path, between path and value, and behind the value.
    private let canonical: (start: [UInt8], middle: [UInt8], end: [UInt8])
    private let authorization: CachedAuthorizationSigner

    /// - Parameters:
    ///   - message: whose path is empty and which has no field of this name.
    ///   - openField: in lower case.
    package init(
        _ message: SigV4.Message, open openField: String, with credentials: Credentials, key: SigningKey,
        at time: Timestamp
    ) {
        let signer = SigV4(rules: .s3)
        let timestamp = time.basic
        var message = message
        signer.complete(&message, with: credentials, timestamp: timestamp)
        fields = message.fields
        message.fields.add(openField, Self.open)
        let request = CanonicalRequest(message, query: CanonicalQuery(message.query).text, rules: signer.rules)
        let start = Array(message.method.utf8) + [newline]
        // An empty path has become a slash.
        let behindPath = request.bytes[(start.count + 1)...]
        let valueStart = behindPath.firstIndex(of: 0) ?? behindPath.endIndex
        canonical = (start, Array(behindPath[..<valueStart]), Array(behindPath[valueStart...].dropFirst()))
        authorization = CachedAuthorizationSigner(request, with: credentials, key: key, timestamp: timestamp)
        self.openField = openField
    }

    /// - Parameter value: without blanks.
    /// - Returns: every field of the request for this path, signed.
    package func fields(path: String, value: String) -> HeaderFields {
        var request: [UInt8] = []
        request.reserveCapacity(
            canonical.start.count + path.utf8.count + canonical.middle.count + value.utf8.count + canonical.end.count)
        request.append(contentsOf: canonical.start)
        request.append(path)
        request.append(contentsOf: canonical.middle)
        request.append(value)
        request.append(contentsOf: canonical.end)
        let authorization = authorization.authorization(of: request)
        var fields = HeaderFields()
        fields.reserve(
            fields: self.fields.count + 2,
            bytes: self.fields.text.count + openField.utf8.count + value.utf8.count + authorization.count + 16)
        fields.add(self.fields)
        fields.add(openField, value)
        fields.add("authorization", authorization)
        return fields
    }
}

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
