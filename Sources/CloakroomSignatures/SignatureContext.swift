import CloakroomCrypto
import CloakroomCOpenSSL

/// A context of libcrypto for one key and one scheme, used again for each message.
@safe struct SignatureContext: ~Copyable {
    @safe private enum Handle {
        /// An EVP_PKEY_CTX, over digests.
        case digests(OpaquePointer)
        /// An EVP_MD_CTX, over messages, and the key to start it with: Ed25519 has no other way.
        case messages(OpaquePointer, KeyHandle)
    }

    private let handle: Handle

    init?(_ key: KeyHandle, _ scheme: SignatureScheme, isForSigning: Bool) {
        if scheme == .ed25519 {
            guard let context = unsafe EVP_MD_CTX_new() else { return nil }
            unsafe handle = .messages(context, key)
            return
        }
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else { return nil }
        let started = unsafe isForSigning ? EVP_PKEY_sign_init(context) : EVP_PKEY_verify_init(context)
        guard started == 1, unsafe Self.configure(context, scheme) else {
            unsafe EVP_PKEY_CTX_free(context)
            ERR_clear_error()
            return nil
        }
        unsafe handle = .digests(context)
    }

    deinit {
        switch handle {
        case .digests(let context): unsafe EVP_PKEY_CTX_free(context)
        case .messages(let context, _): unsafe EVP_MD_CTX_free(context)
        }
    }

    /// - Parameter message: the digest of it, except for Ed25519.
    func verify(_ signature: [UInt8], _ message: [UInt8]) -> Bool {
        switch handle {
        case .digests(let context):
            return unsafe EVP_PKEY_verify(context, signature, signature.count, message, message.count) == 1
        case .messages(let context, let key):
            // Newer libraries take a context that has finished only from its start.
            return unsafe EVP_MD_CTX_reset(context) == 1
                && EVP_DigestVerifyInit(context, nil, nil, nil, key.pointer) == 1
                && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        }
    }

    /// - Parameters:
    ///   - message: the digest of it, except for Ed25519.
    ///   - capacity: at least the length of the signature, in DER for ECDSA.
    func sign(_ message: [UInt8], capacity: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            var length = capacity
            let done =
                switch handle {
                case .digests(let context):
                    unsafe EVP_PKEY_sign(context, buffer.baseAddress, &length, message, message.count) == 1
                case .messages(let context, let key):
                    unsafe EVP_MD_CTX_reset(context) == 1
                        && EVP_DigestSignInit(context, nil, nil, nil, key.pointer) == 1
                        && EVP_DigestSign(context, buffer.baseAddress, &length, message, message.count) == 1
                }
            precondition(done, "libcrypto could not sign")
            count = length
        }
    }

    private static func configure(_ context: OpaquePointer, _ scheme: SignatureScheme) -> Bool {
        switch scheme {
        case .pkcs1(let hash):
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
                && EVP_PKEY_CTX_set_signature_md(context, hash.method) == 1
        case .pss(let hash):
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_signature_md(context, hash.method) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, hash.method) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, Int32(hash.byteCount)) == 1
        case .ecdsa(let hash):
            unsafe EVP_PKEY_CTX_set_signature_md(context, hash.method) == 1
        case .ed25519: false
        }
    }
}
