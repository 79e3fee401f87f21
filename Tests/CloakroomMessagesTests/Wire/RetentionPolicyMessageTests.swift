import CloakroomKit
import Foundation
import Testing

@testable import CloakroomMessages

@Suite struct RetentionPolicyMessageTests {
    private let sender: AuthenticatedSender
    private let conversation: ConversationID
    private let author: ParticipantID

    init() throws {
        conversation = try #require(ConversationID(rawValue: "c1"))
        author = try #require(ParticipantID(rawValue: "a"))
        sender = AuthenticatedSender(author, in: conversation)
    }

    private func isRefused(_ data: Data) -> Bool {
        do {
            _ = try RetentionPolicyMessage.decoded(data, from: sender)
            return false
        } catch let error as CloakroomError {
            return error.code == .invalidControlMessage
        } catch { return false }
    }

    @Test func `there are golden files of each kind`() {
        let counts = ["policies", "legacy", "later", "refused", "texts", "stamps", "refused-stamps"]
            .map { Golden.files($0).count }
        #expect(counts == [3, 4, 1, 23, 6, 3, 8])
    }

    @Test(arguments: Golden.files("policies"))
    func `a message is read, and written as the same bytes`(file: Golden.File) throws {
        let message = try #require(try RetentionPolicyMessage.decoded(file.data, from: sender))
        let register = try #require(message.register)
        #expect(RetentionPolicyMessage(register, of: author, in: conversation).data == file.data)
        #expect(message.author == author)
        #expect(message.conversation == conversation)
    }

    @Test func `the example says what it means`() throws {
        let file = try #require(Golden.files("policies").first { $0.name == "example.json" })
        let message = try #require(try RetentionPolicyMessage.decoded(file.data, from: sender))
        #expect(message.policy == .oneDay)
        #expect(message.register?.version == RegisterVersion(17))
        #expect(message.register?.cuts == RetentionCuts(.oneHour, before: 1_790_000_000_000))
    }

    @Test(arguments: Golden.files("refused"))
    func `a control message that breaks a rule is refused, and is no text`(file: Golden.File) {
        #expect(isRefused(file.data))
    }

    @Test(arguments: Golden.files("texts")) func `what users write is no control message`(file: Golden.File) throws {
        #expect(try RetentionPolicyMessage.decoded(file.data, from: sender) == nil)
    }

    @Test(arguments: Golden.files("later"))
    func `a later version is no error, and says no policy`(file: Golden.File) throws {
        let message = try #require(try RetentionPolicyMessage.decoded(file.data, from: sender))
        #expect(message.policy == nil)
        #expect(try message.register(from: sender, at: 0) == nil)
    }

    @Test(
        arguments: zip(
            Golden.files("legacy"), [MessageRetentionPolicy.oneDay, .oneHour, .noStorage, .oneWeek]))
    func `the first app's message is understood, as older than every other`(
        file: Golden.File, policy: MessageRetentionPolicy
    ) throws {
        let message = try #require(try RetentionPolicyMessage.decoded(file.data, from: sender))
        let register = try #require(message.register)
        #expect(register.policy == policy)
        // 2001 is 978,307,200 s after 1970.
        #expect(register.version == RegisterVersion(legacyTime: 1_790_652_878_250))
        #expect(register.version < .first)
    }

    @Test func `a message is no larger than 4 KiB, and one that is larger is refused`() throws {
        let file = try #require(Golden.files("policies").first { $0.name == "keep.json" })
        let padding = Data(repeating: 0x20, count: RetentionPolicyMessage.maximumSize - file.data.count)
        #expect(!isRefused(file.data + padding))
        #expect(isRefused(file.data + padding + Data(" ".utf8)))

        var cuts = RetentionCuts()
        for seconds in RetentionCuts.durations { cuts.add(.init(seconds: seconds, before: .latestTime)) }
        let version = try #require(RegisterVersion(RegisterVersion.last))
        let register = RetentionRegister(version: version, policy: .oneWeek, cuts: cuts)
        let author = try #require(ParticipantID(rawValue: String(repeating: "\"", count: 128)))
        let conversation = try #require(ConversationID(rawValue: String(repeating: "\\", count: 128)))
        let message = RetentionPolicyMessage(register, of: author, in: conversation)
        #expect(message.data.count <= RetentionPolicyMessage.maximumSize)
        let sender = AuthenticatedSender(author, in: conversation)
        #expect(try RetentionPolicyMessage.decoded(message.data, from: sender)?.register == register)
    }

    @Test func `a cut may reach a day into the future, and no further`() throws {
        let now: Milliseconds = 1_790_000_000_000
        let register = RetentionRegister(policy: .oneHour, cuts: RetentionCuts(.oneHour, before: now + .day))
        let message = RetentionPolicyMessage(register, of: author, in: conversation)
        #expect(try message.register(from: sender, at: now) == register)
        #expect(throws: CloakroomError.self) { try message.register(from: sender, at: now - 1) }
    }

    @Test func `a message that another participant hands on is refused`() throws {
        let message = RetentionPolicyMessage(RetentionRegister(policy: .oneHour), of: author, in: conversation)
        let other = AuthenticatedSender(try #require(ParticipantID(rawValue: "b")), in: conversation)
        #expect(throws: CloakroomError.self) { try message.register(from: other, at: 0) }
        #expect(throws: CloakroomError.self) { try RetentionPolicyMessage.decoded(message.data, from: other) }
        let elsewhere = AuthenticatedSender(author, in: try #require(ConversationID(rawValue: "c2")))
        #expect(throws: CloakroomError.self) { try message.register(from: elsewhere, at: 0) }
    }
}

@Suite struct MessageStampWireTests {
    @Test(arguments: Golden.files("stamps")) func `a stamp is read, and written as the same bytes`(
        file: Golden.File
    ) throws {
        #expect(try #require(try MessageStamp.decoded(file.data)).data == file.data)
    }

    @Test func `the example says what it means`() throws {
        let file = try #require(Golden.files("stamps").first { $0.name == "hour.json" })
        #expect(try MessageStamp.decoded(file.data) == MessageStamp(policy: .oneHour, age: .milliseconds(120)))
    }

    @Test(arguments: Golden.files("refused-stamps")) func `a stamp that breaks a rule is refused`(file: Golden.File) {
        #expect(throws: CloakroomError.self) { try MessageStamp.decoded(file.data) }
    }

    @Test func `a stamp of a later version is no error`() throws {
        #expect(try MessageStamp.decoded(Data(#"{"v":2,"until":"noon"}"#.utf8)) == nil)
    }

    @Test func `an age that cannot be is written as none`() {
        let stamp = MessageStamp(policy: .oneHour, age: .seconds(-5))
        #expect(stamp.data == MessageStamp(policy: .oneHour).data)
    }
}
