@testable import CloakroomCrypto
@testable import CloakroomJOSE
@testable import CloakroomSignatures
@testable import CloakroomJSON

/// Whatever is taken for a key set holds keys that can be used, and written and read again as the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    _ = try? PrivateKey(pem: bytes)
    if let key = try? PublicKey(pem: bytes) { check(key) }
    guard let json = try? JSON(parsing: bytes) else { return 0 }
    let fetched = KeySet(jwks: json, origin: .fetched)
    for key in fetched?.keys ?? [] { precondition(key.secret == nil) }
    for key in KeySet(jwks: json, origin: .own)?.keys ?? [] {
        precondition(!key.algorithms.isEmpty)
        for algorithm in key.algorithms {
            precondition(algorithm.isSymmetric == (key.secret != nil))
            precondition(!key.verifies(bytes, of: bytes, algorithm: algorithm))
        }
        if let key = key.publicKey { check(key) }
    }
    return 0
}

private func check(_ key: PublicKey) {
    guard let whole = VerificationKey(key), let algorithm = whole.algorithms.first,
        let again = try? VerificationKey(jwk: key.jwk(keyID: nil, algorithm: algorithm), origin: .fetched)
    else { preconditionFailure("unusable") }
    precondition(again.publicKey?.material == key.material)
}
