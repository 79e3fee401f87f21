package import CloakroomCrypto
package import CloakroomHTTP
package import CloakroomWire

/// A kind of request that a load can hold, by the name it has in `--mix`.
package enum LoadRoute: String, Sendable, CaseIterable {
    case vend
    case container
    case renew
    case renewOne = "renew-one"
    case upload
    case uploadPost = "upload-post"
    case health
    case ready

    package var route: Route {
        switch self {
        case .vend: .stsToken
        case .container: .containerCredentials
        case .renew: .renewBatch
        case .renewOne: .renewOne
        case .upload: .presignedUpload
        case .uploadPost: .presignedPost
        case .health: .health
        case .ready: .readiness
        }
    }

    package var needsToken: Bool { self != .health && self != .ready }
    package var needsKeys: Bool { self == .renew || self == .renewOne }

    /// What the help says of it.
    package var about: String {
        switch self {
        case .vend: "credentials of a user"
        case .container: "the same, in the form that AWS SDKs read"
        case .renew: "a batch of keys"
        case .renewOne: "one key"
        case .upload: "a presigned PUT"
        case .uploadPost: "the form of a presigned POST"
        case .health: "/healthz, which needs no token"
        case .ready: "/readyz, which needs none either"
        }
    }
}

/// The requests of a run by their numbers, made of the mix, of tokens signed beforehand, and of keys.
package struct LoadRequests: Sendable {
    package let mix: RequestMix
    private let origin: String
    /// The values of `Authorization`.
    private let authorizations: [Secret]
    private let keys: [String]
    private let keysPerRequest: Int

    /// - Parameters:
    ///   - origin: scheme, host and port; empty for FastCGI.
    ///   - tokens: used in turn; may be empty where no route needs one.
    ///   - keys: to renew, used in turn; may be empty where no route needs them.
    package init(_ mix: RequestMix, origin: String, tokens: [Secret], keys: [String] = [], keysPerRequest: Int = 1) {
        precondition(!tokens.isEmpty || !mix.shares.contains { $0.route.needsToken }, "a mix that needs tokens")
        precondition(!keys.isEmpty || !mix.shares.contains { $0.route.needsKeys }, "a mix that needs keys")
        self.mix = mix
        self.origin = origin
        authorizations = tokens.map { Secret("Bearer \($0.reveal())") }
        self.keys = keys
        self.keysPerRequest = keysPerRequest
    }

    package func request(_ number: Int) -> UpstreamRequest {
        let route = mix.shares[mix.share(of: number)].route
        var request = UpstreamRequest(method: route.route.method, origin: origin, target: route.route.rawValue)
        if route.needsToken {
            request.fields.reserve(fields: 2, bytes: 1024)
            request.fields.add("Authorization", authorizations[number % authorizations.count].reveal())
        }
        switch route {
        case .vend, .container, .health, .ready: break
        case .renew:
            let first = number * keysPerRequest
            setBody(RenewBatchRequest(assetKeys: (first..<first + keysPerRequest).map(key)), &request)
        case .renewOne: setBody(RenewOneRequest(assetKey: key(number)), &request)
        case .upload: request.target += "?contentType=image/jpeg"
        case .uploadPost:
            setBody(PostUploadRequest(contentType: "image/jpeg", maximumBytes: nil, sha256: nil), &request)
        }
        return request
    }

    private func setBody(_ body: some WireEncodable, _ request: inout UpstreamRequest) {
        request.fields.add("Content-Type", "application/json")
        request.body = body.encoded
    }

    private func key(_ number: Int) -> String { keys[number % keys.count] }
}
