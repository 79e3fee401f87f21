import CloakroomCrypto
package import CloakroomHTTP
import CloakroomJOSE
package import CloakroomLoop
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tells for whom a request is, from its token alone: never from an address or a header that anyone can send.
@LoopActor
package final class Authenticator {
    private let source: TokenSource
    private let issuers: [IdentityProvider]
    private var verifier: TokenVerifier
    private let leeway: Duration
    private let now: @Sendable () -> Date
    private let verified: VerifiedTokens
    private let reserved: ReservedUserIDs

    /// Called with the name of an issuer whose token has neither `iat` nor `nbf`.
    package var onUndatedToken: (@LoopActor (String) -> Void)?

    /// - Parameters:
    ///   - issuers: each with its keys; ourselves among them if we make session tokens.
    ///   - now: the wall clock; tokens speak of it.
    init(
        header: String, leeway: Duration, issuers: [IdentityProvider], maximumRemembered: Int = 10_000,
        reserved: ReservedUserIDs = ReservedUserIDs(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        source = TokenSource(header: header)
        self.issuers = issuers
        self.reserved = reserved
        self.leeway = leeway
        verifier = TokenVerifier(
            issuers: issuers.map { $0.issuer.trusted($0.keys.keys ?? KeySet(own: [])) }, leeway: leeway)
        verified = VerifiedTokens(capacity: maximumRemembered)
        self.now = now
        for issuer in issuers {
            let name = issuer.issuer.name
            issuer.keys.onChange = { [weak self] in self?.verifier.setKeys($0, ofIssuer: name) }
        }
    }

    /// The caller, or what it takes to identify it.
    package enum Identification {
        case subject(Subject)
        case refused(IdentityRefusal)
        /// The keys are being fetched, or may be now.
        case waiting(@LoopActor @Sendable () async -> Result<Subject, IdentityRefusal>)
    }

    /// Each token's signature is checked once more.
    func forgetVerifiedTokens() { verified.removeAll() }

    /// - Parameter acceptsBare: for `/v1/credentials`, see ``TokenSource``.
    package func identify(_ request: Request, acceptsBare: Bool = false) -> Identification {
        guard let range = source.tokenRange(in: request.fields, acceptsBare: acceptsBare) else {
            return .refused(.token(.missing))
        }
        let text = request.fields.text
        return identify(text[range], maximumByteCount: JWS.maximumByteCount)
    }

    /// - Parameter maximumByteCount: a longer one is refused unread.
    package func identify(_ token: ArraySlice<UInt8>, maximumByteCount: Int) -> Identification {
        guard token.count <= maximumByteCount else { return .refused(.token(.tooLarge)) }
        let digest = SHA256.digest(token.span)
        if let subject = verified.subject(of: digest, now: now()) { return .subject(subject) }
        let token = Array(token)
        do throws(VerificationError) {
            return .subject(try remembered(token, digest, maximumByteCount))
        } catch {
            switch error {
            case .refused(let refusal): return .refused(refusal)
            case .keysMissing(let keys):
                return .waiting { [self] in
                    await Self.result { () throws(IdentityRefusal) in
                        try await afterRefetch(keys) { () throws(VerificationError) in
                            try remembered(token, digest, maximumByteCount)
                        }
                    }
                }
            }
        }
    }

    /// Whom an identity token is for, if it is one for a session and bound to the nonce.
    ///
    /// - Parameter nonce: as in the request; `nil` when it has none.
    func signIn(identityToken: [UInt8], nonce: String?) async throws(IdentityRefusal) -> Subject {
        let (token, issuer) = try await waiting { () throws(VerificationError) in
            try verifiedToken(identityToken, for: .exchange)
        }
        try Nonce.check(nonce, against: token.claims, isRequired: issuer.issuer.requiresNonce)
        return try subject(token, of: issuer)
    }

    /// Whose session a request carries.
    func session(of request: Request) throws(IdentityRefusal) -> Subject {
        guard let bytes = source.token(in: request.fields) else { throw .token(.missing) }
        do throws(VerificationError) {
            let (token, issuer) = try verifiedToken(bytes, for: .continuation)
            do throws(IdentityRefusal) { return try subject(token, of: issuer) } catch { throw .refused(error) }
        } catch {
            switch error {
            case .refused(let refusal): throw refusal
            case .keysMissing: throw .keysUnavailable
            }
        }
    }

    /// What Apple tells, of which user of ours.
    func notification(_ payload: [UInt8]) async throws(IdentityRefusal) -> (AppleNotification, Subject) {
        try await waiting { () throws(VerificationError) in
            let (claims, issuer) = try verifiedNotification(payload)
            do throws(IdentityRefusal) {
                let notification = try AppleNotification(claims)
                guard let user = issuer.userID(notification.subject) else { throw .token(.badSubject) }
                return (notification, Subject(userID: user, deviceID: nil, tier: nil, issuer: issuer.issuer.name))
            } catch {
                throw .refused(error)
            }
        }
    }

    // MARK: Which tokens are good for what

    /// What an identity is required for. Tokens of one issuer are signed alike: what each is good for must be told apart
    /// by what it says.
    private enum Purpose {
        case request, exchange, continuation

        @LoopActor func suits(_ issuer: IdentityProvider) -> Bool {
            switch self {
            case .request: issuer.issuer.use == .requests
            case .exchange: issuer.issuer.use == .session
            case .continuation: issuer.isOurselves
            }
        }
    }

    private enum VerificationError: Error {
        case refused(IdentityRefusal)
        /// It may be trusted once the keys have been fetched.
        case keysMissing(IssuerKeys)
    }

    private func remembered(
        _ bytes: [UInt8], _ digest: SHA256.Digest, _ maximumByteCount: Int
    ) throws(VerificationError) -> Subject {
        let (token, issuer) = try verifiedToken(bytes, for: .request, maximumByteCount)
        do throws(IdentityRefusal) {
            let subject = try subject(token, of: issuer)
            // Kept as long as it would verify: to its end and the leeway beyond.
            let end = token.expiration.addingTimeInterval((issuer.issuer.leeway ?? leeway) / .seconds(1))
            verified.insert(subject, for: digest, until: end, keys: issuer.keys)
            return subject
        } catch {
            throw .refused(error)
        }
    }

    private func subject(_ token: VerifiedToken, of issuer: IdentityProvider) throws(IdentityRefusal) -> Subject {
        let subject: Subject
        do throws(TokenError) { subject = try issuer.subject(token, now: now()) } catch { throw .token(error) }
        guard !reserved.contains(subject.userID) else { throw .reservedUserID }
        if subject.signIn == nil { onUndatedToken?(issuer.issuer.name) }
        return subject
    }

    private func verifiedToken(
        _ bytes: [UInt8], for purpose: Purpose, _ maximumByteCount: Int = JWS.maximumByteCount
    ) throws(VerificationError) -> (VerifiedToken, IdentityProvider) {
        let (claimed, issuer) = try claimed(bytes, maximumByteCount)
        guard purpose.suits(issuer) else { throw .refused(.wrongUse) }
        let token: VerifiedToken
        do throws(TokenError) { token = try verifier.verify(claimed, now: now()) } catch {
            throw verificationError(error, issuer)
        }
        guard token.claims["events"] == nil else { throw .refused(.unexpectedEvents) }
        return (token, issuer)
    }

    private func verifiedNotification(_ bytes: [UInt8]) throws(VerificationError) -> (Claims, IdentityProvider) {
        let (claimed, issuer) = try claimed(bytes)
        guard issuer.issuer.notifies else { throw .refused(.wrongUse) }
        do throws(TokenError) {
            let claims = try verifier.verifySignature(claimed)
            try AppleNotification.checkTimes(claims, now: now(), leeway: issuer.issuer.leeway ?? leeway)
            return (claims, issuer)
        } catch {
            throw verificationError(error, issuer)
        }
    }

    private func claimed(
        _ bytes: [UInt8], _ maximumByteCount: Int = JWS.maximumByteCount
    ) throws(VerificationError) -> (UnverifiedToken, IdentityProvider) {
        do throws(TokenError) {
            let claimed = try verifier.read(bytes, maximumByteCount: maximumByteCount)
            guard let issuer = issuers.first(where: { $0.issuer.name.hasSameBytes(as: claimed.issuer) }) else {
                throw .unknownIssuer
            }
            return (claimed, issuer)
        } catch {
            throw .refused(.token(error))
        }
    }

    private func verificationError(_ error: TokenError, _ issuer: IdentityProvider) -> VerificationError {
        guard error == .unknownKey else { return .refused(.token(error)) }
        return issuer.keys.canRefetch ? .keysMissing(issuer.keys) : .refused(Self.unknownKey(issuer.keys))
    }

    /// A key that is not there may be one that could not be fetched: then the token is as good as it was.
    private static func unknownKey(_ keys: IssuerKeys) -> IdentityRefusal {
        keys.areCurrent ? .token(.unknownKey) : .keysUnavailable
    }

    // MARK: Waiting for keys

    private func waiting<Value: Sendable>(
        _ body: @LoopActor () throws(VerificationError) -> Value
    ) async throws(IdentityRefusal) -> Value {
        do throws(VerificationError) { return try body() } catch {
            switch error {
            case .refused(let refusal): throw refusal
            case .keysMissing(let keys): return try await afterRefetch(keys, body)
            }
        }
    }

    private func afterRefetch<Value: Sendable>(
        _ keys: IssuerKeys, _ body: @LoopActor () throws(VerificationError) -> Value
    ) async throws(IdentityRefusal) -> Value {
        await keys.refetch()
        do throws(VerificationError) { return try body() } catch {
            switch error {
            case .refused(let refusal): throw refusal
            // Others had them fetched once more meanwhile: once is enough for one request.
            case .keysMissing(let keys): throw Self.unknownKey(keys)
            }
        }
    }

    private static func result<Value: Sendable>(
        _ body: () async throws(IdentityRefusal) -> Value
    ) async -> Result<Value, IdentityRefusal> {
        do throws(IdentityRefusal) { return .success(try await body()) } catch { return .failure(error) }
    }
}
