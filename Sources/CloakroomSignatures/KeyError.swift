/// Why a key is refused. The raw value is the reason in logs; ``description`` is for the operator.
package enum KeyError: String, Error, Sendable, CaseIterable, CustomStringConvertible {
    /// Neither PEM nor the DER in it can be read, or something follows it.
    case unreadable
    case privateKey = "private_key"
    case publicKey = "public_key"
    case certificate
    case encrypted
    /// PKCS #1 or SEC 1, which name their kind outside the key.
    case oldContainer = "old_container"
    /// DSA, X25519, Ed448, a curve that JOSE has no signature for, …
    case unsupportedKind = "unsupported_kind"
    /// RSA below 2048 bits (RFC 7518 §3.3), a secret shorter than the hash (RFC 7518 §3.2).
    case tooSmall = "too_small"
    /// RSA beyond 8192 bits: each signature would cost milliseconds.
    case tooLarge = "too_large"
    /// An even one, or 0.
    case badModulus = "bad_modulus"
    /// Made by the library of CVE-2017-15361.
    case guessablePrimes = "guessable_primes"
    /// Even, 1, or beyond 64 bits.
    case badExponent = "bad_exponent"
    /// A number with leading zeros, where the shortest form is required (RFC 7518 §2, Base64urlUInt).
    case leadingZeros = "leading_zeros"
    /// A coordinate not as long as its curve requires (RFC 7518 §6.2.1.2, RFC 8037 §2).
    case wrongLength = "wrong_length"
    case notOnCurve = "not_on_curve"
    /// A point of Ed25519 whose multiples are eight at most: signatures of one message hold for others.
    case smallOrder = "small_order"
    /// The public half is not that of the private one.
    case mismatched

    package var description: String {
        switch self {
        case .unreadable: "cannot be read as a key in PEM"
        case .privateKey: "is a private key; give the public one: openssl pkey -pubout"
        case .publicKey: "is a public key; the private one is needed to sign"
        case .certificate: "is a certificate; give its key: openssl x509 -pubkey -noout"
        case .encrypted: "is encrypted; give it as plain PKCS #8: openssl pkey"
        case .oldContainer: "is in an old container; convert it: openssl pkey, with -pubin -pubout for a public one"
        case .unsupportedKind: "is of a kind that no supported algorithm uses"
        case .tooSmall: "is too small: RSA takes 2048 bits or more, a secret as many bytes as the hash"
        case .tooLarge: "is larger than 8192 bits"
        case .badModulus: "has an even modulus, which is no RSA key"
        case .guessablePrimes: "was made by a library whose keys can be computed (CVE-2017-15361); make another"
        case .badExponent: "has a public exponent that is even, 1, or longer than 64 bits"
        case .leadingZeros: "has a number with leading zeros"
        case .wrongLength: "has a coordinate of the wrong length"
        case .notOnCurve: "is no point on its curve"
        case .smallOrder: "is a point of small order, for which signatures can be forged"
        case .mismatched: "has a public half that does not belong to the private one"
        }
    }
}
