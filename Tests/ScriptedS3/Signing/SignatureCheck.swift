import CloakroomCrypto
import Foundation

/// Signature Version 4 as S3 checks it: from the request as it came, with nothing of the worker's own code but the
/// hash functions.
///
/// Sources: S3 API Reference, "Authenticating Requests (AWS Signature Version 4)", and "Using query parameters";
/// LocalStack, validated on AWS: `test_s3_presigned_url_expired` (403 with `Expires`, `ServerTime`),
/// `test_s3_put_presigned_url_same_header_and_qs_parameter` and `test_s3_ignored_special_headers` (unsigned `x-amz-*`
/// fields: 403), `test_s3_put_presigned_url_with_different_headers`; the 15 minutes: S3 error `RequestTimeTooSkewed`.
struct SignatureCheck {
    static let algorithm = "AWS4-HMAC-SHA256"

    let identities: [ScriptedIdentity]
    let now: Double
    private let keys: SigningKeys

    init(identities: [ScriptedIdentity], now: Double, keys: SigningKeys) {
        self.identities = identities
        self.now = now
        self.keys = keys
    }

    /// What a signature claims.
    private struct Claim {
        var accessKeyID, day, region, scope: String
        var signedNames: [String]
        var signature, timestamp: String
        var token: String?
        var isPresigned: Bool
    }

    /// - Returns: who signed.
    func check(_ request: S3Request, region: String) throws(S3Error) -> ScriptedIdentity {
        let claim = try request.isPresigned ? presigned(request) : fields(request)
        let identity = try identity(claim.accessKeyID, token: claim.token)
        try checkRegion(claim.region, region, request)
        try checkTime(claim, request)
        try checkNames(claim, request)
        let payloadHash = try payloadHash(request, claim)
        let canonical = canonicalRequest(request, claim, payloadHash: payloadHash)
        let stringToSign = [
            Self.algorithm, claim.timestamp, claim.scope, SHA256.hash(Array(canonical.utf8)).hexadecimal,
        ].joined(separator: "\n")
        let expected = keys.key(identity.secretAccessKey, day: claim.day, region: claim.region)
            .authenticate(Array(stringToSign.utf8)).hexadecimal
        guard expected == claim.signature else {
            throw S3Error(
                403, "SignatureDoesNotMatch",
                "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
                details: [
                    ("AWSAccessKeyId", identity.accessKeyID), ("StringToSign", stringToSign),
                    ("SignatureProvided", claim.signature), ("CanonicalRequest", canonical),
                ])
        }
        return identity
    }

    func identity(_ accessKeyID: String, token: String?) throws(S3Error) -> ScriptedIdentity {
        guard let identity = identities.first(where: { $0.accessKeyID == accessKeyID }) else {
            throw S3Error(
                403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.",
                details: [("AWSAccessKeyId", accessKeyID)])
        }
        guard identity.sessionToken == token else {
            throw S3Error(400, "InvalidToken", "The provided token is malformed or otherwise invalid.")
        }
        guard !identity.isExpired else {
            throw S3Error(400, "ExpiredToken", "The provided token has expired.")
        }
        return identity
    }

    // MARK: Where the claim stands

    private func fields(_ request: S3Request) throws(S3Error) -> Claim {
        guard let text = request.field("authorization") else { throw .accessDenied }
        guard let (credential, names, signature) = Self.parts(of: text) else {
            throw S3Error(
                400, "AuthorizationHeaderMalformed", "The authorization header is malformed; it has another format.")
        }
        guard let timestamp = request.field("x-amz-date"), request.field("x-amz-content-sha256") != nil else {
            throw S3Error(
                400, "InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
        }
        return try claim(
            credential: credential, names: names, signature: signature, timestamp: timestamp,
            token: request.field("x-amz-security-token"), isPresigned: false)
    }

    /// `AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…`, with a space after each comma or without; the signature 64
    /// hexadecimal digits, in lower case.
    private static func parts(of authorization: String) -> (credential: String, names: String, signature: String)? {
        let start = "\(algorithm) "
        guard authorization.hasPrefix(start) else { return nil }
        let parts = authorization.dropFirst(start.count).split(separator: ",", omittingEmptySubsequences: false)
        let names = ["Credential=", "SignedHeaders=", "Signature="]
        guard parts.count == names.count else { return nil }
        let values = zip(parts, names).enumerated().compactMap { index, pair -> String? in
            let part = index > 0 && pair.0.first == " " ? pair.0.dropFirst() : pair.0
            return part.hasPrefix(pair.1) ? String(part.dropFirst(pair.1.count)) : nil
        }
        guard values.count == names.count, values.allSatisfy({ !$0.isEmpty }), values[2].utf8.count == 64,
            values[2].utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) })
        else { return nil }
        return (values[0], values[1], values[2])
    }

    private func presigned(_ request: S3Request) throws(S3Error) -> Claim {
        guard request.parameter("X-Amz-Algorithm") == Self.algorithm,
            let credential = request.parameter("X-Amz-Credential"), let timestamp = request.parameter("X-Amz-Date"),
            let names = request.parameter("X-Amz-SignedHeaders"), let signature = request.parameter("X-Amz-Signature"),
            let seconds = request.parameter("X-Amz-Expires").flatMap({ Int($0) }), (1...604_800).contains(seconds)
        else {
            throw S3Error(
                400, "AuthorizationQueryParametersError",
                "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters."
            )
        }
        return try claim(
            credential: credential, names: names, signature: signature, timestamp: timestamp,
            token: request.parameter("X-Amz-Security-Token"), isPresigned: true)
    }

    private func claim(
        credential: String, names: String, signature: String, timestamp: String, token: String?, isPresigned: Bool
    ) throws(S3Error) -> Claim {
        let parts = credential.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, parts[3] == "s3", parts[4] == "aws4_request", timestamp.hasPrefix(parts[1]) else {
            throw S3Error(
                400, "AuthorizationHeaderMalformed", "The authorization header is malformed; the credential is wrong.")
        }
        return Claim(
            accessKeyID: parts[0], day: parts[1], region: parts[2], scope: parts[1...].joined(separator: "/"),
            signedNames: names.split(separator: ";").map(String.init), signature: signature, timestamp: timestamp,
            token: token, isPresigned: isPresigned)
    }

    // MARK: What is checked before the signature

    private func checkRegion(_ claimed: String, _ region: String, _ request: S3Request) throws(S3Error) {
        guard claimed != region else { return }
        var failure = S3Error(
            400, "AuthorizationHeaderMalformed",
            "The authorization header is malformed; the region '\(claimed)' is wrong; expecting '\(region)'",
            details: [("Region", region)])
        failure.fields = [.init(name: "x-amz-bucket-region", value: region)]
        throw failure
    }

    private func checkTime(_ claim: Claim, _ request: S3Request) throws(S3Error) {
        guard let signed = S3Timestamp(basic: claim.timestamp) else {
            throw S3Error(403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
        }
        guard claim.isPresigned else {
            guard abs(signed.seconds - now) <= 900 else {
                throw S3Error(
                    403, "RequestTimeTooSkewed",
                    "The difference between the request time and the current time is too large.",
                    details: [
                        ("RequestTime", claim.timestamp), ("ServerTime", S3Timestamp(now).iso),
                        ("MaxAllowedSkewMilliseconds", "900000"),
                    ])
            }
            return
        }
        let seconds = request.parameter("X-Amz-Expires").flatMap { Double($0) } ?? 0
        guard now <= signed.seconds + seconds else {
            throw S3Error(
                403, "AccessDenied", "Request has expired",
                details: [
                    ("X-Amz-Expires", String(Int(seconds))), ("Expires", S3Timestamp(signed.seconds + seconds).iso),
                    ("ServerTime", S3Timestamp(now).iso),
                ])
        }
        guard signed.seconds <= now + 900 else { throw S3Error(403, "AccessDenied", "Request is not valid yet") }
    }

    private func checkNames(_ claim: Claim, _ request: S3Request) throws(S3Error) {
        let mustBeSigned = request.fields.map(\.name).filter {
            $0 == "host" || ($0.hasPrefix("x-amz-") && !(claim.isPresigned && $0 == "x-amz-content-sha256"))
        }
        let unsigned = mustBeSigned.filter { !claim.signedNames.contains($0) }
        guard unsigned.isEmpty else {
            throw S3Error(
                403, "AccessDenied", "There were headers present in the request which were not signed",
                details: [("HeadersNotSigned", unsigned.joined(separator: ", "))])
        }
    }

    private func payloadHash(_ request: S3Request, _ claim: Claim) throws(S3Error) -> String {
        let unsigned = "UNSIGNED-PAYLOAD"
        guard let claimed = request["x-amz-content-sha256"] else { return unsigned }
        guard claimed != unsigned else { return unsigned }
        guard !claimed.hasPrefix("STREAMING-") else { throw .notImplemented("x-amz-content-sha256") }
        let computed = SHA256.hash(request.body).hexadecimal
        guard claimed == computed else {
            throw S3Error(
                400, "XAmzContentSHA256Mismatch",
                "The provided 'x-amz-content-sha256' header does not match what was computed.",
                details: [("ClientComputedContentSHA256", claimed), ("S3ComputedContentSHA256", computed)])
        }
        return claimed
    }

    // MARK: The canonical request

    private func canonicalRequest(_ request: S3Request, _ claim: Claim, payloadHash: String) -> String {
        let path = PercentText.encoded(PercentText.decoded(request.rawPath) ?? "", keepingSlashes: true)
        let query = request.query.filter { $0.name != "X-Amz-Signature" }
            .map { (PercentText.encoded($0.name), PercentText.encoded($0.value)) }
            .sorted { $0.0 == $1.0 ? Self.precedes($0.1, $1.1) : Self.precedes($0.0, $1.0) }
            .map { "\($0)=\($1)" }.joined(separator: "&")
        let fields = claim.signedNames.map { name in
            let values = request.fields.filter { $0.name == name }.map { Self.collapsed($0.value) }
            return "\(name):\(values.joined(separator: ","))\n"
        }.joined()
        return [request.method, path, query, fields, claim.signedNames.joined(separator: ";"), payloadHash]
            .joined(separator: "\n")
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    private static func collapsed(_ value: String) -> String {
        value.utf8.contains(UInt8(ascii: " "))
            ? value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ") : value
    }
}
