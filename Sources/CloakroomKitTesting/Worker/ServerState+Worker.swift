import CloakroomKit
import CloakroomWire
import Foundation

/// Why the worker refuses a request.
struct WorkerRefusal: Error {
    let code: ErrorCode
    let text: String

    init(_ code: ErrorCode, _ text: String) {
        self.code = code
        self.text = text
    }
}

extension ServerState {
    mutating func workerResponse(to call: ServerCall) -> HTTPResponse {
        do throws(WorkerRefusal) {
            switch call.operation {
            case .signIn: return try signIn(call)
            case .continueSession: return try continueSession(call)
            case .vendCredentials: return try vend(call)
            case .requestUpload: return try presign(call)
            case .beginAssetUpload: return try beginUpload(call)
            case .requestAssetParts: return try presignParts(call)
            case .completeAssetUpload: return try completeUpload(call)
            case .abortAssetUpload: return try abortUpload(call)
            case .renewAssets: return try renew(call)
            case .releaseImages: return try release(call)
            case .putObject, .getObject, .headObject, .deleteObject, .listObjects, .createMultipartUpload, .uploadPart,
                .listParts, .completeMultipartUpload, .abortMultipartUpload, .readAsset, .unknown:
                throw WorkerRefusal(.notFound, "Not found")
            }
        } catch {
            return Self.workerError(error.code.status, error.code.rawValue, error.text)
        }
    }

    static func json(_ body: some WireBody) -> HTTPResponse { json(200, body.encoded) }

    static func json(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            status: status,
            fields: [("Content-Type", "application/json"), ("Cache-Control", "no-store")], body: Data(body))
    }

    static func workerError(_ status: Int, _ code: String, _ text: String) -> HTTPResponse {
        var body = ErrorBody(error: text, code: .internalError)
        body.code = code
        return json(status, body.encoded)
    }
}

// MARK: Tokens

extension ServerState {
    mutating func issueToken(to user: String, until expiration: Date? = nil) -> String {
        let text = digits()
        tokens[text] = Token(user: user, expiration: expiration, number: number())
        return text
    }

    mutating func issueIdentityToken(to user: String) -> String {
        let text = digits()
        identities[text] = Token(user: user, expiration: nil, number: number())
        return text
    }

    mutating func revokeSessions(of user: String) { revocations[user] = number() }

    mutating func endToken(of call: ServerCall) {
        guard let text = tokenText(of: call), let token = tokens[text] else { return }
        tokens[text] = Token(user: token.user, expiration: now, number: token.number)
    }

    func knownToken(of call: ServerCall) -> Token? { tokenText(of: call).flatMap { tokens[$0] } }

    /// Under whatever name it comes.
    private func tokenText(of call: ServerCall) -> String? {
        if let text = call.bearer, tokens[text] != nil { return text }
        return call.fields.values.first { tokens[$0] != nil }
    }

    /// - Returns: the user's identifier.
    func authenticate(_ call: ServerCall) throws(WorkerRefusal) -> String {
        guard let token = knownToken(of: call) else {
            throw WorkerRefusal(.unauthorized, call.bearer == nil ? "Missing auth token" : "Invalid auth token")
        }
        try check(token)
        return token.user
    }

    func checkHasRoom(_ user: String) throws(WorkerRefusal) {
        if fullUsers.contains(user) { throw WorkerRefusal(.storageQuotaExceeded, "Storage quota exceeded") }
    }

    private func check(_ token: Token) throws(WorkerRefusal) {
        if let last = revocations[token.user], token.number < last {
            throw WorkerRefusal(.sessionRevoked, "Session revoked")
        }
        if let expiration = token.expiration, now >= expiration {
            throw WorkerRefusal(.unauthorized, "Invalid auth token")
        }
    }

    fileprivate mutating func signIn(_ call: ServerCall) throws(WorkerRefusal) -> HTTPResponse {
        guard let request = SessionRequest(parsing: Array(call.body)) else {
            throw WorkerRefusal(.invalidRequest, "Invalid request body")
        }
        guard let text = request.identityToken else { throw WorkerRefusal(.unauthorized, "Missing auth token") }
        guard let identity = identities[text] else { throw WorkerRefusal(.unauthorized, "Invalid auth token") }
        try check(identity)
        // It is good for one sign-in.
        identities[text] = nil
        return session(of: identity.user)
    }

    fileprivate mutating func continueSession(_ call: ServerCall) throws(WorkerRefusal) -> HTTPResponse {
        session(of: try authenticate(call))
    }

    private mutating func session(of user: String) -> HTTPResponse {
        let expiration = date(after: options.sessionLifetime)
        let token = issueToken(to: user, until: expiration)
        return Self.json(SessionBody(token: token, expiresAt: expiration, userId: user))
    }
}

// MARK: Credentials

extension ServerState {
    /// The folders that a user's credentials open, by their names in the worker's settings.
    static func prefixes(of user: String) -> [String: String] {
        var prefixes: [String: String] = [:]
        for name in ["photos", "thumbnails", "metadata", "catalogs", "users"] { prefixes[name] = "\(name)/\(user)/" }
        return prefixes
    }

    fileprivate mutating func vend(_ call: ServerCall) throws(WorkerRefusal) -> HTTPResponse {
        let user = try authenticate(call)
        let request: CredentialRequest
        do throws(CredentialRequest.ParsingError) {
            request = try CredentialRequest(parsing: Array(call.body))
        } catch {
            throw WorkerRefusal(.invalidRequest, "Invalid request body")
        }
        guard [nil, "full", "read", "upload"].contains(request.scope) else {
            throw WorkerRefusal(.forbidden, "Scope not allowed")
        }
        if request.scope != "read" { try checkHasRoom(user) }
        var lifetime = options.credentialsLifetime
        if let seconds = request.lifetimeSeconds {
            guard (900...3600).contains(seconds) else {
                throw WorkerRefusal(.invalidRequest, "lifetimeSeconds must be from 900 to 3600")
            }
            lifetime = .seconds(seconds)
        }
        let issued = IssuedCredentials(
            user: user, sessionToken: digits(), isReadOnly: request.scope == "read",
            expiration: date(after: lifetime))
        let id = "ASIATEST\(number() + 10_000_000)"
        credentials[id] = issued
        return Self.json(
            STSTokenBody(
                credentials: .init(
                    accessKeyId: id, secretAccessKey: digits(), sessionToken: issued.sessionToken,
                    expiration: issued.expiration),
                region: options.region, bucket: options.bucket, userId: user, prefixes: Self.prefixes(of: user)))
    }
}

extension ServerCall {
    fileprivate var bearer: String? {
        fields["authorization"].flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
    }
}
