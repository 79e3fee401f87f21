import CloakroomCrypto
import CloakroomHTTP

/// Signs forms that are posted to one service: they differ in nothing but the body.
///
/// Holds for one second, the one of `x-amz-date`, and for the credentials it was made with.
final class CachedFormSigner {
    private let origin: String
    private let target: String
    /// Sent as they are; without `authorization`.
    private let fields: HeaderFields
    /// The canonical request before the body's hash, which ends it.
    private let start: [UInt8]
    private let authorization: CachedAuthorizationSigner
    private let second: Int
    private let signing: Int

    init(_ upstream: AWSServiceClient, _ signing: AWSServiceClient.SigningContext) {
        let signer = SigV4(rules: .others)
        let timestamp = signing.time.basic
        var message = SigV4.Message(
            method: "POST", path: "\(upstream.endpoint.path)/",
            fields: [
                "content-type": "application/x-www-form-urlencoded; charset=utf-8", "host": upstream.endpoint.host,
            ], payloadHash: "")
        signer.complete(&message, with: signing.credentials, timestamp: timestamp)
        let request = CanonicalRequest(message, query: [], rules: signer.rules)
        origin = upstream.origin
        target = message.path
        fields = message.fields
        start = request.bytes
        authorization = CachedAuthorizationSigner(
            request, with: signing.credentials, key: signing.key, timestamp: timestamp)
        second = signing.time.secondsSince1970
        self.signing = signing.number
    }

    /// Whether it was made with these credentials and in this second.
    func matches(_ signing: AWSServiceClient.SigningContext) -> Bool {
        signing.number == self.signing && signing.time.secondsSince1970 == second
    }

    func request(posting body: [UInt8]) -> UpstreamRequest {
        var canonical: [UInt8] = []
        canonical.reserveCapacity(start.count + 2 * SHA256.byteCount)
        canonical.append(contentsOf: start)
        canonical.append(hexadecimal: SHA256.hash(body))
        let authorization = authorization.authorization(of: canonical)
        var fields = HeaderFields()
        fields.reserve(fields: self.fields.count + 1, bytes: self.fields.text.count + authorization.count + 16)
        fields.add(self.fields)
        fields.add("authorization", authorization)
        return UpstreamRequest(method: "POST", origin: origin, target: target, fields: fields, body: body)
    }
}
