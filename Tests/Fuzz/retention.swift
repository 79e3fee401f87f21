@testable import CloakroomMessages

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a peer sends is refused, or is within all bounds and reads as the same again when it is written.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let data = Data(UnsafeBufferPointer(start: start, count: count))
    check(stamp: data)
    check(message: data)
    return 0
}

private func check(stamp data: Data) {
    guard let stamp = try? MessageStamp.decoded(data) else { return }
    precondition(stamp.age >= .zero && stamp.policy.afterSent ?? .zero <= MessageRetentionPolicy.longest)
    guard let again = try? MessageStamp.decoded(stamp.data) else { preconditionFailure("unreadable") }
    precondition(again == stamp)
}

private func check(message data: Data) {
    guard let message = try? RetentionPolicyMessage.decoded(data, from: sender) else { return }
    precondition(message.author == sender.participant && message.conversation == sender.conversation)
    guard let register = message.register else { return }
    precondition((0...Milliseconds.latestTime).contains(register.cuts.latest))
    precondition(register.policy.afterSent ?? .zero <= MessageRetentionPolicy.longest)
    var state = RetentionState()
    precondition(state.join(register, of: message.author) && !state.join(register, of: message.author))
    guard register.version >= .first else { return }
    let written = RetentionPolicyMessage(register, of: message.author, in: message.conversation)
    precondition(written.data.count <= RetentionPolicyMessage.maximumSize)
    guard let again = try? RetentionPolicyMessage.decoded(written.data, from: sender) else {
        preconditionFailure("unreadable")
    }
    precondition(again.register == register)
}

private let sender: AuthenticatedSender = {
    guard let author = ParticipantID(rawValue: "a"), let conversation = ConversationID(rawValue: "c1") else {
        preconditionFailure("no sender")
    }
    return AuthenticatedSender(author, in: conversation)
}()
