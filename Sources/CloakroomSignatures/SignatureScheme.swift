import CloakroomCOpenSSL
package import CloakroomCrypto
import Synchronization

/// How a message is signed with an asymmetric key.
package enum SignatureScheme: Sendable, Hashable {
    /// RSASSA-PKCS1-v1_5 (RFC 8017 §8.2).
    case pkcs1(HashFunction)
    /// RSASSA-PSS, MGF1 with the same hash, a salt as long as the hash (RFC 8017 §8.1, RFC 7518 §3.5).
    case pss(HashFunction)
    /// ECDSA, the signature as r and s, each as long as the curve's coordinates (RFC 7518 §3.4).
    case ecdsa(HashFunction)
    /// RFC 8032, pure.
    case ed25519
}

/// The curves of RFC 7518 §6.2.1.1.
package enum EllipticCurve: String, Sendable, Hashable, CaseIterable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    package var coordinateByteCount: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }

    /// As libcrypto names the group.
    var groupName: String {
        switch self {
        case .p256: "prime256v1"
        case .p384: "secp384r1"
        case .p521: "secp521r1"
        }
    }
}

/// A private key made ready for one scheme.
package final class MessageSigner: Sendable {
    private let prepared: Mutex<SignatureContext>
    private let scheme: SignatureScheme
    private let signatureByteCount: Int

    /// - Throws: ``KeyError/unsupportedKind`` for a key that does not ``PublicKey/fits(_:)`` the scheme,
    ///   ``KeyError/mismatched`` when the public half does not verify what the private one signs.
    package init(_ key: PrivateKey, _ scheme: SignatureScheme) throws(KeyError) {
        guard let verifier = MessageVerifier(key.publicKey, scheme),
            let context = SignatureContext(key.handle, scheme, isForSigning: true)
        else { throw .unsupportedKind }
        prepared = Mutex(context)
        self.scheme = scheme
        signatureByteCount = key.publicKey.signatureByteCount
        guard verifier.verifies(sign([]), of: []) else { throw .mismatched }
    }

    /// - Returns: the signature in JOSE's form.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        switch scheme {
        case .ed25519: return prepared.withLock { $0.sign(message, capacity: signatureByteCount) }
        case .pkcs1(let hash), .pss(let hash):
            return prepared.withLock { $0.sign(hash.hash(message), capacity: signatureByteCount) }
        case .ecdsa(let hash):
            // Beyond the numbers, a SEQUENCE and two INTEGERs with their signs.
            let der = prepared.withLock { $0.sign(hash.hash(message), capacity: signatureByteCount + 16) }
            guard let raw = ECDSASignature.raw(der, coordinateByteCount: signatureByteCount / 2) else {
                preconditionFailure("libcrypto writes DER")
            }
            return raw
        }
    }
}

/// A public key made ready for one scheme: to verify is then the mathematics and nothing else.
package final class MessageVerifier: Sendable {
    private let prepared: Mutex<SignatureContext>
    private let scheme: SignatureScheme
    private let signatureByteCount: Int

    /// - Returns: `nil` for a key that does not ``PublicKey/fits(_:)`` the scheme, or whose own parameters forbid it.
    package init?(_ key: PublicKey, _ scheme: SignatureScheme) {
        guard key.fits(scheme), let context = SignatureContext(key.handle, scheme, isForSigning: false) else {
            return nil
        }
        prepared = Mutex(context)
        self.scheme = scheme
        signatureByteCount = key.signatureByteCount
    }

    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        // libcrypto itself takes an RSA-PSS signature that lacks leading zeros.
        guard signature.count == signatureByteCount else { return false }
        let isValid =
            switch scheme {
            case .ed25519: prepared.withLock { $0.verify(signature, message) }
            case .ecdsa(let hash):
                prepared.withLock { $0.verify(ECDSASignature.der(signature), hash.hash(message)) }
            case .pkcs1(let hash), .pss(let hash): prepared.withLock { $0.verify(signature, hash.hash(message)) }
            }
        // A refusal leaves its reasons in the thread's queue, where libssl would stumble over them.
        if !isValid { ERR_clear_error() }
        return isValid
    }
}
