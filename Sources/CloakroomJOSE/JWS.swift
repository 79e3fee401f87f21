import CloakroomCrypto
import CloakroomJSON

/// A JWS in compact serialisation (RFC 7515 §7.1), parsed and not yet verified.
package struct JWS: Sendable {
    /// Of a token in a header field, and wherever nothing else is said.
    package static let maximumByteCount = 8192
    private static let maximumKeyIDByteCount = 128

    /// The name in `alg`; whether it is accepted, the verifier decides.
    package let algorithm: String
    package let keyID: String?
    package let payload: [UInt8]

    private let signingInput: ArraySlice<UInt8>
    private let signature: [UInt8]

    /// - Throws: ``TokenError`` for every header that RFC 8725 tells us to refuse, with any signature.
    package init(compact text: [UInt8], maximumByteCount: Int = Self.maximumByteCount) throws(TokenError) {
        guard text.count <= maximumByteCount else { throw .tooLarge }
        let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        let fields = try Self.fields(header)
        self.algorithm = try Self.algorithm(fields)
        self.keyID = try Self.keyID(fields)
        self.payload = payload
        self.signingInput = text[..<parts[1].endIndex]
        self.signature = signature
    }

    /// - Parameter allowed: what the issuer may sign with; the key must serve the header's algorithm, too.
    package func verify(with key: VerificationKey, allowed: Set<SignatureAlgorithm>) throws(TokenError) {
        try KeySet(own: [key]).verify(self, allowed: allowed)
    }

    func isSigned(with key: VerificationKey, _ algorithm: SignatureAlgorithm) -> Bool {
        key.verifies(signature, of: signingInput, algorithm: algorithm)
    }

    private static func fields(_ header: [UInt8]) throws(TokenError) -> JSON.Object {
        // A header of ours is flat; an embedded key, which is refused below, is one deeper.
        guard let json = try? JSON(parsing: header, maximumDepth: 4), let fields = json.object else { throw .badHeader }
        guard fields["crit"] == nil else { throw .criticalRefused }
        for name in ["jwk", "jku", "x5c", "x5u"] where fields[name] != nil { throw .embeddedKeyRefused }
        if let type = fields["typ"] {
            guard let name = type.string else { throw .badHeader }
            guard name.hasSameBytes(as: "JWT") || name.lowercased().hasSameBytes(as: "jwt") else {
                throw .typeRefused
            }
        }
        return fields
    }

    private static func algorithm(_ fields: JSON.Object) throws(TokenError) -> String {
        guard let algorithm = fields["alg"]?.string else { throw .badHeader }
        return algorithm
    }

    /// Look-up data and nothing else: bounded, and of characters that mean nothing to anyone.
    private static func keyID(_ fields: JSON.Object) throws(TokenError) -> String? {
        guard let field = fields["kid"] else { return nil }
        guard let keyID = field.string else { throw .badHeader }
        let isPlain = keyID.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: ":"), UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "@"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        guard isPlain, (1...maximumKeyIDByteCount).contains(keyID.utf8.count) else { throw .keyIDRefused }
        return keyID
    }
}
