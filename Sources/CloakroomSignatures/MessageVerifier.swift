import CloakroomCrypto
import CloakroomCOpenSSL
import Synchronization

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
