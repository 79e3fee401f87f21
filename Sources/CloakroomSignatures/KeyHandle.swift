import CloakroomCOpenSSL

/// Owns a key of libcrypto.
@safe final class KeyHandle: @unchecked Sendable {
    // Unchecked: never changed after it was made, and libcrypto locks what it computes for a key later.
    let pointer: OpaquePointer

    /// Takes the key over.
    private init?(_ pointer: OpaquePointer?) {
        guard let pointer = unsafe pointer else {
            ERR_clear_error()
            return nil
        }
        unsafe self.pointer = pointer
    }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// - Returns: `nil` for a point that is not on its curve.
    convenience init?(_ material: PublicKey.Material) {
        switch material {
        case .rsa(let modulus, let exponent):
            unsafe self.init(cloakroom_rsa_public_key(modulus, modulus.count, exponent, exponent.count))
        case .ellipticCurve(let curve, let x, let y):
            // Uncompressed (SEC 1 §2.3.3).
            let point = [4] + x + y
            unsafe self.init(cloakroom_ec_public_key(curve.groupName, point, point.count))
        case .ed25519(let point):
            unsafe self.init(EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, point, point.count))
        }
    }

    /// - Returns: `nil` for anything but one SubjectPublicKeyInfo (RFC 5280 §4.1.2.7) and nothing after it.
    convenience init?(subjectPublicKeyInfo der: [UInt8]) {
        let key: OpaquePointer? = unsafe der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            let key = unsafe d2i_PUBKEY_ex(nil, &next, bytes.count, nil, nil)
            guard unsafe next == bytes.baseAddress.map({ unsafe $0 + bytes.count }) else {
                unsafe EVP_PKEY_free(key)
                return nil
            }
            return unsafe key
        }
        unsafe self.init(key)
    }

    /// - Returns: `nil` for anything but one PrivateKeyInfo (RFC 5958 §2) and nothing after it.
    convenience init?(privateKeyInfo der: [UInt8]) {
        let key: OpaquePointer? = unsafe der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            let info = unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &next, bytes.count)
            defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
            guard unsafe info != nil, unsafe next == bytes.baseAddress.map({ unsafe $0 + bytes.count }) else {
                return nil
            }
            return unsafe EVP_PKCS82PKEY(info)
        }
        unsafe self.init(key)
    }

    /// Whether its algorithm identifier is id-RSASSA-PSS (RFC 4055 §1.2).
    var isForPSSAlone: Bool { unsafe EVP_PKEY_is_a(pointer, "RSA-PSS") == 1 }

    /// The public half; `nil` for a kind we do not use.
    var material: PublicKey.Material? {
        if unsafe isForPSSAlone || EVP_PKEY_is_a(pointer, "RSA") == 1 {
            guard let modulus = number("n"), let exponent = number("e") else { return nil }
            return .rsa(modulus: modulus, exponent: exponent)
        }
        if unsafe EVP_PKEY_is_a(pointer, "EC") == 1 {
            guard let curve, let x = number("qx", count: curve.coordinateByteCount),
                let y = number("qy", count: curve.coordinateByteCount)
            else { return nil }
            return .ellipticCurve(curve, x: x, y: y)
        }
        guard unsafe EVP_PKEY_is_a(pointer, "ED25519") == 1 else { return nil }
        return .ed25519(
            unsafe [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
                var length = 32
                let done = unsafe EVP_PKEY_get_raw_public_key(pointer, buffer.baseAddress, &length)
                count = done == 1 ? length : 0
            })
    }

    private var curve: EllipticCurve? {
        // Parameters written out could be any group's, with a generator of an attacker's choice.
        var isExplicit: Int32 = 0
        guard unsafe EVP_PKEY_get_int_param(pointer, "decoded-from-explicit", &isExplicit) == 1, isExplicit == 0 else {
            return nil
        }
        return EllipticCurve.allCases.first { isInGroup($0.groupName) }
    }

    private func isInGroup(_ name: String) -> Bool {
        var group = [CChar](repeating: 0, count: 64)
        var length = 0
        guard unsafe EVP_PKEY_get_group_name(pointer, &group, group.count, &length) == 1 else { return false }
        return group.prefix(length).elementsEqual(name.utf8.map(CChar.init))
    }

    /// - Parameter count: how long it shall be; as short as it can be when `nil`.
    private func number(_ name: String, count: Int? = nil) -> [UInt8]? {
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(pointer, name, &number) == 1 else { return nil }
        defer { unsafe BN_free(number) }
        let length = unsafe (BN_num_bits(number) + 7) / 8
        let count = count ?? Int(length)
        guard count >= length else { return nil }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = Int(unsafe BN_bn2binpad(number, buffer.baseAddress, Int32(count)))
        }
    }
}
