import CloakroomCrypto
@testable import CloakroomServer
@testable import CloakroomWire

/// A release's body is read or refused, and what is read is written and read again as the same; no input is a token.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let text = String(decoding: bytes, as: UTF8.self)
    precondition(!tokens.verify(text, for: "chats/a.bin", of: user))
    precondition(tokens.verify(tokens.token(for: text, of: user), for: text, of: user))
    guard let request = try? ReleaseBatchRequest(parsing: bytes) else { return 0 }
    precondition((1...WireLimits.maximumKeysPerRequest).contains(request.images.count))
    precondition((try? ReleaseBatchRequest(parsing: request.encoded)) == request)
    for image in request.images { precondition(!tokens.verify(image.releaseToken, for: image.key, of: user)) }
    return 0
}

private let tokens = ReleaseTokens(
    keys: [ReleaseKey(from: Array("k7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8))], bucket: "photos")
private let user: UserID = {
    guard let user = UserID("u_1") else { preconditionFailure("no user") }
    return user
}()
