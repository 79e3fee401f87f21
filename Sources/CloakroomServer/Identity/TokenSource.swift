import CloakroomCrypto
import CloakroomHTTP
import CloakroomJOSE

/// Where in a request its token may stand.
struct TokenSource: Sendable {
    /// Besides `Authorization`.
    let header: String

    /// - Returns: `nil` when there is none.
    func token(in fields: HeaderFields) -> [UInt8]? {
        tokenRange(in: fields, acceptsBare: false).map { Array(fields.text[$0]) }
    }

    /// - Parameter acceptsBare: whether `Authorization` may hold the token alone, as AWS SDKs send it
    ///   (AWS SDKs and Tools Reference Guide, "Container credential provider").
    /// - Returns: where in the fields' text the token stands; `nil` when there is none.
    func tokenRange(in fields: HeaderFields, acceptsBare: Bool) -> Range<Int>? {
        if let field = fields.location(of: "Authorization") {
            let value = field.value
            let authorization = fields.text.span.extracting(value)
            if let token = Self.token(in: authorization, acceptsBare: acceptsBare) {
                return value.lowerBound + token.lowerBound..<value.lowerBound + token.upperBound
            }
        }
        guard let field = fields.location(of: header), !field.value.isEmpty else { return nil }
        return field.value
    }

    private static func token(in authorization: Span<UInt8>, acceptsBare: Bool) -> Range<Int>? {
        let start = bearer.count + 1
        // As every app of ours sends it.
        if authorization.count > start, isBearer(authorization.extracting(first: bearer.count)),
            authorization[bearer.count] == space, !authorization.extracting(droppingFirst: start).holds(space)
        {
            return start..<authorization.count
        }
        let first = word(in: authorization, from: 0)
        let second = word(in: authorization, from: first.upperBound)
        guard word(in: authorization, from: second.upperBound).isEmpty else { return nil }
        if second.isEmpty { return acceptsBare && !first.isEmpty ? first : nil }
        return isBearer(authorization.extracting(first)) ? second : nil
    }

    private static let space = UInt8(ascii: " ")
    private static let bearer = Array("bearer".utf8)

    private static func isBearer(_ word: Span<UInt8>) -> Bool {
        guard word.count == bearer.count else { return false }
        for index in word.indices where word[index] | 0x20 != bearer[index] { return false }
        return true
    }

    /// What stands between spaces, from `start` on; empty at the end.
    private static func word(in text: Span<UInt8>, from start: Int) -> Range<Int> {
        var start = start
        while start < text.count, text[start] == space { start += 1 }
        var end = start
        while end < text.count, text[end] != space { end += 1 }
        return start..<end
    }
}

/// Ties an identity token to the app that requested it: the token holds the digest of a nonce that only the app knows.
///
/// Source: Apple, "Authenticating users with Sign in with Apple": the app gives Apple SHA-256 of its nonce; the claim
/// is there only if it did, and some platforms cannot carry one, which `nonce_supported: false` tells.
enum Nonce {
    static let maximumByteCount = 256

    /// - Parameter nonce: as the app made it, not hashed; `nil` when the request has none.
    static func check(_ nonce: String?, against claims: Claims, isRequired: Bool) throws(IdentityRefusal) {
        let claim: String?
        do throws(TokenError) { claim = try claims.optionalText("nonce", maximumByteCount: maximumByteCount) } catch {
            throw .token(error)
        }
        switch (claim, nonce) {
        case (let claim?, let nonce?):
            let digest = SHA256.hash(nonce.utf8).hexadecimal
            guard constantTimeEqual(Array(claim.utf8), Array(digest.utf8)) else { throw .nonceMismatch }
        case (_?, nil): throw .nonceMissing
        case (nil, _?) where claims["nonce_supported"]?.bool == false && !isRequired: return
        case (nil, _?): throw .nonceMissing
        case (nil, nil): if isRequired { throw .nonceMissing }
        }
    }
}
