import CloakroomCrypto
package import CloakroomSignatures
package import CloakroomJSON

/// Where keys come from, which decides what may be among them.
package enum KeyOrigin: Sendable, Equatable {
    /// A file of the operator's own.
    case own
    /// An issuer's address. Whatever is secret there has been read by others: it is refused.
    case fetched
}

/// Why one key of a key set is left out (RFC 7517 §4). The description is for a log or for the operator.
package enum JSONWebKeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// No JSON object, or a member that is absent or of the wrong type; its name.
    case badMember(String)
    /// `kty` or `crv` is none that we verify with.
    case unsupportedKind
    /// `use` is not `sig`, or `key_ops` lacks `verify`.
    case otherUse
    /// `alg` is none of ours, or not one of this kind of key.
    case otherAlgorithm
    /// A secret, or a private half, in a place that others can read.
    case secretInTheOpen
    /// The key itself.
    case unfit(KeyError)

    package var description: String {
        switch self {
        case .badMember(let name): "has no \(name) that can be read"
        case .unsupportedKind: KeyError.unsupportedKind.description
        case .otherUse: "is for another use than to verify signatures"
        case .otherAlgorithm: "is for an algorithm that is not supported, or that does not fit its kind"
        case .secretInTheOpen: "is a secret key, and must not be where others can fetch it"
        case .unfit(let fault): fault.description
        }
    }
}

extension VerificationKey {
    /// A JSON Web Key (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2). Its `alg`, `use` and `key_ops` bind it.
    package init(jwk json: JSON, origin: KeyOrigin) throws(JSONWebKeyError) {
        guard let fields = json.object else { throw .badMember("kty") }
        guard let kind = try Self.text("kty", in: fields) else { throw .badMember("kty") }
        let keyID = try Self.text("kid", in: fields)
        try Self.checkUse(fields)
        let algorithm = try Self.algorithm(fields)
        guard origin == .own || (kind != "oct" && fields["d"] == nil) else { throw .secretInTheOpen }
        let key: VerificationKey?
        switch kind {
        case "oct":
            guard let secret = HMACKey(try Self.bytes("k", in: fields)) else { throw .unfit(.tooSmall) }
            key = VerificationKey(secret, keyID: keyID, algorithm: algorithm)
            if key == nil, algorithm?.isSymmetric == true { throw .unfit(.tooSmall) }
        case "RSA", "EC", "OKP":
            key = VerificationKey(try Self.publicKey(kind, fields), keyID: keyID, algorithm: algorithm)
        default: throw .unsupportedKind
        }
        guard let key else { throw .otherAlgorithm }
        self = key
    }

    private static func publicKey(_ kind: String, _ fields: JSON.Object) throws(JSONWebKeyError) -> PublicKey {
        let material: PublicKey.Material
        switch kind {
        case "RSA": material = .rsa(modulus: try bytes("n", in: fields), exponent: try bytes("e", in: fields))
        case "EC":
            guard let name = try text("crv", in: fields) else { throw .badMember("crv") }
            guard let curve = EllipticCurve(rawValue: name) else { throw .unsupportedKind }
            material = .ellipticCurve(curve, x: try bytes("x", in: fields), y: try bytes("y", in: fields))
        default:
            guard let name = try text("crv", in: fields) else { throw .badMember("crv") }
            guard name == "Ed25519" else { throw .unsupportedKind }
            material = .ed25519(try bytes("x", in: fields))
        }
        do throws(KeyError) { return try PublicKey(material) } catch { throw .unfit(error) }
    }

    private static func checkUse(_ fields: JSON.Object) throws(JSONWebKeyError) {
        if let use = try text("use", in: fields), use != "sig" { throw .otherUse }
        guard let member = fields["key_ops"] else { return }
        guard let operations = member.strings, Set(operations).count == operations.count else {
            throw .badMember("key_ops")
        }
        guard operations.contains("verify") else { throw .otherUse }
    }

    private static func algorithm(_ fields: JSON.Object) throws(JSONWebKeyError) -> SignatureAlgorithm? {
        guard let name = try text("alg", in: fields) else { return nil }
        guard let algorithm = SignatureAlgorithm(rawValue: name) else { throw .otherAlgorithm }
        return algorithm
    }

    private static func text(_ name: String, in fields: JSON.Object) throws(JSONWebKeyError) -> String? {
        guard let member = fields[name] else { return nil }
        guard let text = member.string else { throw .badMember(name) }
        return text
    }

    private static func bytes(_ name: String, in fields: JSON.Object) throws(JSONWebKeyError) -> [UInt8] {
        guard let text = try text(name, in: fields), let bytes = Base64URL.decode(text.utf8) else {
            throw .badMember(name)
        }
        return bytes
    }
}

extension PublicKey {
    /// The members that RFC 7638 §3.2 makes the thumbprint of, in its order.
    private var requiredMembers: [JSON.Object.Member] {
        let members: [(String, String)] =
            switch material {
            case .rsa(let modulus, let exponent):
                [("e", Base64URL.encode(exponent)), ("kty", "RSA"), ("n", Base64URL.encode(modulus))]
            case .ellipticCurve(let curve, let x, let y):
                [("crv", curve.rawValue), ("kty", "EC"), ("x", Base64URL.encode(x)), ("y", Base64URL.encode(y))]
            case .ed25519(let point): [("crv", "Ed25519"), ("kty", "OKP"), ("x", Base64URL.encode(point))]
            }
        return members.map { JSON.Object.Member(name: $0.0, value: .string($0.1)) }
    }

    /// SHA-256 of the key as JSON, in base64url (RFC 7638).
    package var thumbprint: String {
        var writer = JSONWriter()
        writer.value(.object(JSON.Object(members: requiredMembers)))
        return Base64URL.encode(SHA256.hash(writer.bytes))
    }

    /// The key as others may fetch it to verify with (RFC 7517 §4).
    package func jwk(keyID: String?, algorithm: SignatureAlgorithm) -> JSON {
        let named = [("kid", keyID), ("alg", algorithm.rawValue), ("use", "sig")] as [(String, String?)]
        let others = named.compactMap { name, text in
            text.map { JSON.Object.Member(name: name, value: .string($0)) }
        }
        return .object(JSON.Object(members: requiredMembers + others))
    }
}
