import CloakroomCOpenSSL

/// A public key that is fit to verify with: of a kind we have, neither too small nor too large, its point on the curve.
package struct PublicKey: Sendable {
    /// The numbers, big-endian.
    package enum Material: Sendable, Hashable {
        /// Both without leading zeros.
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// Both as long as the curve requires.
        case ellipticCurve(EllipticCurve, x: [UInt8], y: [UInt8])
        /// The 32 bytes of RFC 8032 §5.1.5.
        case ed25519([UInt8])
    }

    package static let rsaBits = 2048...8192

    package let material: Material
    let handle: KeyHandle

    package init(_ material: Material) throws(KeyError) {
        try Self.check(material)
        guard let handle = KeyHandle(material) else { throw .notOnCurve }
        self.material = material
        self.handle = handle
    }

    /// - Parameter handle: of a key whose algorithm identifier may bind it further (RFC 4055 §1.2: PSS alone).
    init(_ handle: KeyHandle) throws(KeyError) {
        guard let material = handle.material else { throw .unsupportedKind }
        try Self.check(material)
        self.material = material
        // Made anew from its numbers, unless it is bound: no other parameter of a foreign file counts.
        guard let handle = handle.isForPSSAlone ? handle : KeyHandle(material) else { throw .notOnCurve }
        self.handle = handle
    }

    /// - Parameter text: one block `PUBLIC KEY`, a SubjectPublicKeyInfo (RFC 7468 §13).
    package init(pem text: [UInt8]) throws(KeyError) {
        let block = try PEM(text)
        switch block.label {
        case "PUBLIC KEY": break
        case "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY": throw .privateKey
        case "CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE": throw .certificate
        case "RSA PUBLIC KEY": throw .oldContainer
        default: throw .unsupportedKind
        }
        guard let handle = KeyHandle(subjectPublicKeyInfo: block.bytes) else { throw .unreadable }
        try self.init(handle)
    }

    /// Whether signatures of this kind can be made with this kind of key; for ECDSA, each curve has its own hash.
    package func fits(_ scheme: SignatureScheme) -> Bool {
        switch (scheme, material) {
        case (.pkcs1, .rsa): !handle.isForPSSAlone
        case (.pss, .rsa), (.ed25519, .ed25519): true
        case (.ecdsa(.sha256), .ellipticCurve(.p256, _, _)), (.ecdsa(.sha384), .ellipticCurve(.p384, _, _)),
            (.ecdsa(.sha512), .ellipticCurve(.p521, _, _)):
            true
        case (.pkcs1, _), (.pss, _), (.ecdsa, _), (.ed25519, _): false
        }
    }

    /// The length of its signatures in bytes.
    var signatureByteCount: Int {
        switch material {
        case .rsa(let modulus, _): modulus.count
        case .ellipticCurve(let curve, _, _): 2 * curve.coordinateByteCount
        case .ed25519: 64
        }
    }

    private static func check(_ material: Material) throws(KeyError) {
        switch material {
        case .rsa(let modulus, let exponent): try check(modulus: modulus, exponent: exponent)
        case .ellipticCurve(let curve, let x, let y):
            let length = curve.coordinateByteCount
            guard x.count == length, y.count == length else { throw .wrongLength }
        case .ed25519(let point):
            guard point.count == Ed25519Point.byteCount else { throw .wrongLength }
            guard Ed25519Point.isOnCurve(point) else { throw .notOnCurve }
            guard !Ed25519Point.isOfSmallOrder(point) else { throw .smallOrder }
        }
    }

    private static func check(modulus: [UInt8], exponent: [UInt8]) throws(KeyError) {
        guard let highest = modulus.first, let lowest = modulus.last else { throw .badModulus }
        guard highest != 0, exponent.first != 0 else { throw .leadingZeros }
        let bits = modulus.count * 8 - highest.leadingZeroBitCount
        guard bits >= rsaBits.lowerBound else { throw .tooSmall }
        guard bits <= rsaBits.upperBound else { throw .tooLarge }
        guard lowest & 1 == 1 else { throw .badModulus }
        guard (1...8).contains(exponent.count), exponent.last.map({ $0 & 1 == 1 }) == true, exponent != [1] else {
            throw .badExponent
        }
        guard !GuessablePrimes.areIn(modulus) else { throw .guessablePrimes }
    }
}

extension PublicKey: Equatable {
    package static func == (left: Self, right: Self) -> Bool {
        left.material == right.material && left.handle.isForPSSAlone == right.handle.isForPSSAlone
    }
}
