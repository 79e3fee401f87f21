import CloakroomCrypto
@testable import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// No input is an upload id that opens; what is sealed with the key is read, or refused.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let now = Date(timeIntervalSince1970: 1_795_183_200)
    precondition(seal.ticket(String(decoding: bytes, as: UTF8.self), of: user, at: now) == nil)
    let sealed = Base64URL.encode(key.seal(bytes, context: Array("upload of \(user.text)".utf8)))
    guard let ticket = seal.ticket(sealed, of: user, at: now) else { return 0 }
    precondition((1...10_000).contains(ticket.plan.partCount))
    precondition(seal.ticket(seal.id(ticket, of: user), of: user, at: now) == ticket)
    return 0
}

private let key = SealingKey(from: Array("k7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8), purpose: "cloakroom upload ids")
private let seal = TicketSeal(keys: [key])
private let user: UserID = {
    guard let user = UserID("u_1") else { preconditionFailure("no user") }
    return user
}()
