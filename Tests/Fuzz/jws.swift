@testable import CloakroomCrypto
@testable import CloakroomJOSE
@testable import CloakroomSignatures

/// Nobody who lacks the key makes a token that verifies.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let jws = try? JWS(compact: bytes) else { return 0 }
    _ = try? Claims(jws.payload)
    let isValid = (try? keys.verify(jws, allowed: Set(SignatureAlgorithm.allCases))) != nil
    precondition(!isValid)
    return 0
}

/// One key of each kind, so that whatever the header names is computed.
private let keys: KeySet = {
    let points: [PublicKey.Material] = [
        // RFC 7515 A.3, RFC 8037 A.2.
        .ellipticCurve(
            .p256, x: decoded("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
            y: decoded("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")),
        .ed25519(decoded("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")),
        .rsa(modulus: [0x80] + randomBytes(254) + [1], exponent: [1, 0, 1]),
    ]
    let open = points.compactMap { material in (try? PublicKey(material)).flatMap { VerificationKey($0) } }
    guard open.count == points.count, let secret = HMACKey(randomBytes(64)) else { preconditionFailure("no keys") }
    return KeySet(own: open + [.hmac(secret)])
}()

private func decoded(_ text: String) -> [UInt8] { Base64URL.decode(text.utf8) ?? [] }
