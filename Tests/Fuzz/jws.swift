import CloakroomCrypto

/// Nobody who lacks the key makes a token that verifies.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let jws = try? JWS(compact: bytes) else { return 0 }
    _ = try? Claims(jws.payload)
    let isValid = (try? jws.verify(with: .hmac(key), allowed: [.hs256])) != nil
    precondition(!isValid)
    return 0
}

private let key: HMACKey = {
    guard let key = HMACKey(randomBytes(32)) else { preconditionFailure("32 bytes are a key") }
    return key
}()
