import CloakroomCrypto
import Synchronization

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
