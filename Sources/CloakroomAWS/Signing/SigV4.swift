package import CloakroomCrypto
package import CloakroomHTTP

/// AWS Signature Version 4, in published stages: canonical request, string to sign, signature.
///
/// Source: AWS IAM User Guide, "AWS Signature Version 4 for API requests"; S3 API Reference, "Authenticating Requests".
package struct SigV4: Sendable {
    /// What services differ in.
    package struct Rules: Sendable, Equatable {
        /// Dot segments and repeated slashes are taken out of the path before it is signed.
        package var normalizesPath: Bool
        /// The path, already percent-encoded on the wire, is encoded once more before it is signed.
        package var encodesPathAgain: Bool
        /// The hash of the body is sent and signed as `x-amz-content-sha256`.
        package var sendsPayloadHash: Bool
        /// The session token is sent, but not signed.
        package var leavesSessionTokenUnsigned: Bool

        package init(
            normalizesPath: Bool, encodesPathAgain: Bool, sendsPayloadHash: Bool,
            leavesSessionTokenUnsigned: Bool = false
        ) {
            self.normalizesPath = normalizesPath
            self.encodesPathAgain = encodesPathAgain
            self.sendsPayloadHash = sendsPayloadHash
            self.leavesSessionTokenUnsigned = leavesSessionTokenUnsigned
        }

        package static let s3 = Rules(normalizesPath: false, encodesPathAgain: false, sendsPayloadHash: true)
        package static let others = Rules(normalizesPath: true, encodesPathAgain: true, sendsPayloadHash: false)
    }

    /// What is signed.
    package struct Message: Sendable, Equatable {
        package var method: String
        /// As it stands in the request line, before `?`.
        package var path: String
        /// As it stands in the request line, behind `?`.
        package var query: String
        /// With `host`.
        package var fields: HeaderFields
        /// Names, in lower case, that are among the signed ones though no field has them.
        ///
        /// AWS refuses that. Ceph verifies the signature without them, and refuses the request when a client adds one.
        package var absentFields: [String] = []
        /// SHA-256 of the body in hexadecimal, or ``SigV4/unsignedPayload``.
        package var payloadHash: String

        package init(method: String, path: String, query: String = "", fields: HeaderFields, payloadHash: String) {
            self.method = method
            self.path = path
            self.query = query
            self.fields = fields
            self.payloadHash = payloadHash
        }
    }

    /// The stages of one signature.
    package struct Signature: Sendable {
        package let canonicalRequest: [UInt8]
        package let stringToSign: [UInt8]
        /// In hexadecimal.
        package let text: String
        /// Names, in order, separated by `;`.
        package let signedHeaders: String
    }

    package static let emptyPayloadHash = SHA256.hash([]).hexadecimal
    package static let unsignedPayload = "UNSIGNED-PAYLOAD"
    static let algorithm = "AWS4-HMAC-SHA256"

    package let rules: Rules

    package init(rules: Rules) { self.rules = rules }

    /// Adds `x-amz-date`, what the rules require, the session token and `Authorization` to the fields.
    @discardableResult
    package func sign(
        _ message: inout Message, with credentials: Credentials, key: SigningKey, at time: Timestamp
    ) -> Signature {
        let timestamp = time.basic
        complete(&message, with: credentials, timestamp: timestamp)
        let canonical = CanonicalRequest(message, query: CanonicalQuery(message.query).text, rules: rules)
        let signature = signature(of: canonical, timestamp: timestamp, key: key)
        if let token = credentials.sessionToken, rules.leavesSessionTokenUnsigned {
            message.fields.add("x-amz-security-token", token.reveal())
        }
        var authorization = Self.authorization(signature.signedHeaders, credentials: credentials, key: key)
        authorization.append(signature.text)
        message.fields.add("authorization", authorization)
        return signature
    }

    /// Adds what is sent and signed besides what the message says.
    func complete(_ message: inout Message, with credentials: Credentials, timestamp: String) {
        message.fields["x-amz-date"] = timestamp
        if rules.sendsPayloadHash { message.fields["x-amz-content-sha256"] = message.payloadHash }
        if let token = credentials.sessionToken {
            message.fields["x-amz-security-token"] = rules.leavesSessionTokenUnsigned ? nil : token.reveal()
        }
    }

    /// Signs in the query instead of in the fields: the URL allows that one request without credentials.
    ///
    /// `message.query` becomes the whole query, signature included; `message.fields` must be sent as they then are. The
    /// payload's hash is signed and not sent: where S3 is to check a body, the message has `x-amz-content-sha256`.
    /// - Parameter seconds: how long it holds, at most 604,800 at S3.
    @discardableResult
    package func presign(
        _ message: inout Message, for seconds: Int, with credentials: Credentials, key: SigningKey, at time: Timestamp
    ) -> Signature {
        let timestamp = time.basic
        // It stands in the query.
        message.fields["x-amz-date"] = nil
        let names = CanonicalFields(message.fields, absent: message.absentFields).names
        var query = CanonicalQuery(message.query)
        query.add("X-Amz-Algorithm", Self.algorithm)
        query.add("X-Amz-Credential", "\(credentials.accessKeyID)/\(key.scope)")
        query.add("X-Amz-Date", timestamp)
        query.add("X-Amz-Expires", String(seconds))
        query.add("X-Amz-SignedHeaders", String(decoding: names, as: UTF8.self))
        let token = credentials.sessionToken?.reveal()
        if let token, !rules.leavesSessionTokenUnsigned { query.add("X-Amz-Security-Token", token) }
        let text = query.text
        let canonical = CanonicalRequest(message, query: text, rules: rules)
        let signature = signature(of: canonical, timestamp: timestamp, key: key)
        message.query = String(decoding: text, as: UTF8.self) + "&X-Amz-Signature=\(signature.text)"
        if let token, rules.leavesSessionTokenUnsigned {
            message.query += "&X-Amz-Security-Token=\(PercentEncoding.encode(token))"
        }
        return signature
    }

    /// The value of `authorization` up to the signature.
    static func authorization(_ signedHeaders: String, credentials: Credentials, key: SigningKey) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(384)
        text.append(algorithm)
        text.append(" Credential=")
        text.append(credentials.accessKeyID)
        text.append(UInt8(ascii: "/"))
        text.append(key.scope)
        text.append(", SignedHeaders=")
        text.append(signedHeaders)
        text.append(", Signature=")
        return text
    }

    /// The string to sign up to the hash of the canonical request.
    static func stringToSign(timestamp: String, key: SigningKey) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(192)
        text.append(algorithm)
        text.append(newline)
        text.append(timestamp)
        text.append(newline)
        text.append(key.scope)
        text.append(newline)
        return text
    }

    private func signature(of canonical: CanonicalRequest, timestamp: String, key: SigningKey) -> Signature {
        var text = Self.stringToSign(timestamp: timestamp, key: key)
        text.append(hexadecimal: SHA256.hash(canonical.bytes))
        return Signature(
            canonicalRequest: canonical.bytes, stringToSign: text, text: key.sign(text),
            signedHeaders: canonical.signedHeaders)
    }
}

let newline = UInt8(ascii: "\n")

extension [UInt8] {
    /// A third faster than to append the string's view.
    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }

    mutating func append(constant text: StaticString) { text.withUTF8Buffer { append(contentsOf: $0) } }

    mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { if !$0.isEmpty { append(contentsOf: $0) } }
    }
}

/// The key that signs one UTC day's requests to one service in one region.
///
/// Deriving costs four HMACs and setting up a fifth: keep it for the day.
/// Source: AWS IAM User Guide, "Create a signed AWS API request", step 3.
package struct SigningKey: Sendable {
    /// `20130524/us-east-1/s3/aws4_request`
    package let scope: String
    private let hmac: HMACSHA256

    /// - Parameter day: such as `20130524`.
    package init(secretAccessKey: Secret, day: String, region: String, service: String) {
        var key = Array("AWS4\(secretAccessKey.reveal())".utf8)
        for part in [day, region, service, "aws4_request"] {
            key = HMACSHA256(key: key).authenticate(part.utf8)
        }
        self.scope = "\(day)/\(region)/\(service)/aws4_request"
        self.hmac = HMACSHA256(key: key)
    }

    /// - Returns: the signature, in hexadecimal.
    func sign(_ stringToSign: [UInt8]) -> String { authenticate(stringToSign).hexadecimal }

    /// - Returns: the signature's bytes.
    func authenticate(_ stringToSign: [UInt8]) -> [UInt8] { hmac.authenticate(stringToSign) }
}
