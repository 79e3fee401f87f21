/// Why a token is refused. The raw value is the reason in the log; the client only ever learns 401.
package enum TokenError: String, Error, Sendable, CaseIterable {
    /// The request has no token where one is looked for.
    case missing
    case tooLarge = "too_large"
    /// Not three parts of strict base64url (RFC 7515 §3.1).
    case malformed
    /// The header is not a JSON object of the shapes RFC 7515 §4.1 gives.
    case badHeader = "bad_header"
    /// `alg` is not one that the issuer's settings name; `none` never is.
    case algorithmRefused = "algorithm_refused"
    /// An extension must be understood, and we understand none (RFC 7515 §4.1.11).
    case criticalRefused = "critical_refused"
    /// The token brings its own key, or says where to fetch it: `jwk`, `jku`, `x5c`, `x5u` (RFC 8725 §3.10).
    case embeddedKeyRefused = "embedded_key_refused"
    case keyIDRefused = "key_id_refused"
    case typeRefused = "type_refused"
    /// No key of the issuer has the token's `kid` and may serve its algorithm; a newer key set might have one.
    case unknownKey = "unknown_key"
    /// The token names no key, and more than one would fit.
    case ambiguousKey = "ambiguous_key"
    case badSignature = "bad_signature"
    /// The payload is not a JSON object, or a claim has the wrong type.
    case badClaims = "bad_claims"
    case unknownIssuer = "unknown_issuer"
    case wrongAudience = "wrong_audience"
    /// `exp` is absent.
    case unlimited
    case expired
    case notYetValid = "not_yet_valid"
    case issuedInTheFuture = "issued_in_the_future"
    /// The subject is absent, empty or longer than 255 bytes.
    case badSubject = "bad_subject"
}
