import CloakroomKit
import CloakroomMessages
import Foundation

/// One peer: an app, as far as its messages are concerned.
final class ChatPeer {
    let name: String
    let own: ParticipantID
    let conversation: ConversationID
    let members: [String]
    let clock: ChatClock
    let client: CloakroomClient?
    let retention: MessageRetention
    var reply = ChatReply()

    /// Replies to requests until its input ends.
    static func run(_ name: String, of names: [String], _ options: Options) async throws -> Int32 {
        let passed = try options.values["clock"].map(ChatStep.seconds) ?? 0
        let peer: ChatPeer
        do { peer = try await ChatPeer(name, of: names, passed: passed, options) } catch let error as CloakroomError {
            ChatOutput.printError(error, of: name)
            return 1
        }
        let pipe = ChatPipe(reading: .standardInput, writing: .standardOutput)
        while let request = try pipe.read(ChatRequest.self) { try pipe.write(await peer.reply(to: request)) }
        // What is in memory only ends here, and its images with it.
        try await peer.retention.close(peer.conversation)
        return 0
    }

    private init(_ name: String, of names: [String], passed: Int, _ options: Options) async throws {
        guard names.contains(name), let own = ParticipantID(rawValue: name),
            let conversation = ConversationID(rawValue: names.sorted().joined(separator: " "))
        else { throw UsageError("--as needs one of the peers") }
        (self.name, self.own, self.conversation, members) = (name, own, conversation, names)
        let folder = try Account.folder(options)
        let isSignedIn = FileManager.default.fileExists(atPath: folder.path + "/account.json")
        let client = isSignedIn ? try Account.load(options).client(over: SampleTransport()) : nil
        self.client = client
        clock = ChatClock(passed: passed, client: client)
        retention = try await clock.open(
            folder.appendingPathComponent("messages", isDirectory: true),
            vault: folder.appendingPathComponent("vault", isDirectory: true), of: own)
        try await retention.setMembers(Set(names.compactMap { ParticipantID(rawValue: $0) }), of: conversation)
    }

    private func reply(to request: ChatRequest) async -> ChatReply {
        reply = ChatReply()
        do {
            switch request {
            case .connect:
                reply.frames.append(.control(try await retention.controlMessage(in: conversation).data))
                for loss in await retention.losses() { reply.lines.append(ChatOutput.language.text(of: loss)) }
            case .deliver(let frame, let sender): try await receive(frame, from: sender)
            case .perform(let action): try await perform(action)
            case .pass(let seconds): clock.pass(seconds)
            }
        } catch {
            ChatOutput.printError(CloakroomError(of: error), of: name)
            reply.hasFailed = true
        }
        return reply
    }

    /// - Parameter name: as the channel knows it, whatever the frame says.
    private func receive(_ frame: ChatFrame, from name: String) async throws {
        guard let participant = ParticipantID(rawValue: name) else { return }
        let sender = AuthenticatedSender(participant, in: conversation)
        switch frame {
        case .control(let data):
            if let message = try RetentionPolicyMessage.decoded(data, from: sender) {
                try await retention.receive(message, from: sender)
            }
        case .message(let id, let stamp, let body, let assetKey):
            guard let id = MessageID(rawValue: id) else { return }
            // A stamp of a later version, or none: what this user wants still holds.
            let stamp = (try? MessageStamp.decoded(stamp)) ?? MessageStamp(policy: .keep)
            let attachments = assetKey.map { [MessageAttachment(assetKey: $0)] } ?? []
            let message = IncomingMessage(id: id, sender: sender, stamp: stamp, body: body, attachments: attachments)
            switch try await retention.admit(message) {
            case .kept: reply.lines.append("from \(name): \(ChatOutput.text(of: body))")
            case .arrivedExpired, .replay: break
            }
        }
    }
}
