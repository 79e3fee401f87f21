/// A private key to sign with; prints as `<secret>`.
package struct PrivateKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package let publicKey: PublicKey
    let handle: KeyHandle

    /// - Parameter text: one block `PRIVATE KEY`, PKCS #8 and not encrypted (RFC 7468 §10), as `openssl genpkey` writes it.
    package init(pem text: [UInt8]) throws(KeyError) {
        let block = try PEM(text)
        switch block.label {
        case "PRIVATE KEY": break
        case "PUBLIC KEY", "RSA PUBLIC KEY": throw .publicKey
        case "CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE": throw .certificate
        case "ENCRYPTED PRIVATE KEY": throw .encrypted
        case "RSA PRIVATE KEY", "EC PRIVATE KEY": throw .oldContainer
        default: throw .unsupportedKind
        }
        guard let handle = KeyHandle(privateKeyInfo: block.bytes) else { throw .unreadable }
        self.handle = handle
        publicKey = try PublicKey(handle)
    }

    package var description: String { "<secret>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
