import CloakroomHTTP

/// Signs copies of objects onto themselves that differ in nothing but the key.
final class CachedCopySigner {
    private let origin: String
    private let pathPrefix: String
    private let sourcePrefix: String
    private let fields: CachedRequestSigner
    private let second: Int
    private let signing: Int

    /// - Parameter request: what they all say.
    init(_ request: CopyRequest, _ upstream: AWSServiceClient, _ signing: AWSServiceClient.SigningContext) {
        origin = upstream.origin
        pathPrefix = upstream.endpoint.path + "/"
        sourcePrefix = PercentEncoding.encode(request.bucket) + "/"
        fields = CachedRequestSigner(
            request.messageOfAny(at: upstream.endpoint), open: CopyRequest.sourceField, with: signing.credentials,
            key: signing.key, at: signing.time)
        second = signing.time.secondsSince1970
        self.signing = signing.number
    }

    /// Whether it was made with these credentials and in this second.
    func matches(_ signing: AWSServiceClient.SigningContext) -> Bool {
        signing.number == self.signing && signing.time.secondsSince1970 == second
    }

    func request(for object: ObjectAddress) -> UpstreamRequest {
        let path = pathPrefix + object.encodedKey
        return UpstreamRequest(
            method: "PUT", origin: origin, target: path,
            fields: fields.fields(path: path, value: sourcePrefix + object.encodedKey))
    }
}
