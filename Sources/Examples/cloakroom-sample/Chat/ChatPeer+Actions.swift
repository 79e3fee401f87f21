import CloakroomKit
import CloakroomMessages
import Foundation

extension ChatPeer {
    func perform(_ action: ChatAction) async throws {
        switch action {
        case .policy(let afterSent, let history, let isConfirmed):
            guard let policy = MessageRetentionPolicy(afterSent: afterSent.map { .seconds($0) }) else { return }
            try await change(to: policy, history: history, isConfirmed: isConfirmed)
        case .say(let text): try await send(ChatBody(text: text), image: nil, bytes: nil)
        case .image(let path): try await sendImage(URL(fileURLWithPath: path))
        case .show: try await show()
        case .purge: ChatOutput.end(of: try await retention.purge(), &reply)
        case .release: try await release()
        case .delete(let isConfirmed): try await delete(isConfirmed: isConfirmed)
        case .importOlder(let folder, let isConfirmed):
            try await importOlder(URL(fileURLWithPath: folder, isDirectory: true), isConfirmed: isConfirmed)
        }
    }

    private func change(to policy: MessageRetentionPolicy, history: Bool, isConfirmed: Bool) async throws {
        if history {
            let count = ChatOutput.language.messages(try await retention.impact(of: policy, in: conversation))
            guard isConfirmed else {
                reply.lines.append("would be over: \(count); with confirm behind it, this ends them")
                return
            }
            reply.lines.append("over: \(count)")
        }
        let message = try await retention.updateRetentionPolicy(
            policy, in: conversation, applyingTo: history ? .history : .newMessages)
        reply.frames.append(.control(message.data))
        reply.lines.append("wants: \(ChatOutput.language.text(of: policy))")
    }

    private func send(_ body: ChatBody, image: ChatImage?, bytes: Data?) async throws {
        guard let id = MessageID(rawValue: UUID().uuidString) else { return }
        let data = try JSONEncoder().encode(body)
        // The token stays here: with it, only this user can have the image deleted.
        let attachments = image.map { [MessageAttachment(assetKey: $0.objectKey, releaseToken: $0.releaseToken)] } ?? []
        let stamp = try await retention.keep(
            OutgoingMessage(id: id, in: conversation, body: data, attachments: attachments))
        if let bytes {
            try await retention.keepAttachment(bytes, at: 0, of: MessageReference(id, by: own, in: conversation))
        }
        reply.frames.append(
            .message(id: id.rawValue, stamp: stamp.data, body: data, assetKey: image?.objectKey))
    }

    private func sendImage(_ file: URL) async throws {
        let uploads = AssetUploader(uploader: try signedIn(), releasesChatImages: true)
        let bytes: Data
        do { bytes = try Data(contentsOf: file) } catch {
            throw CloakroomError(.unreadableFile, "\(file.lastPathComponent) cannot be read")
        }
        let image = try await uploads.uploadChatImage(UploadContent(bytes, contentType: "image/jpeg"))
        try await send(
            ChatBody(text: "[\(file.lastPathComponent)]", link: image.link), image: image, bytes: bytes)
        reply.lines.append("uploaded \(image.objectKey)")
    }

    private func show() async throws {
        let agreement = try await retention.agreement(in: conversation)
        reply.lines += ChatOutput.language.notes(on: agreement)
        let shown = try await messages()
        reply.lines += shown.map(ChatOutput.line)
        reply.lines.append(ChatOutput.language.messages(shown.count))
        let late = try await retention.arrivedExpiredCount(in: conversation)
        ChatOutput.language.arrivedExpired(late).map { reply.lines.append($0) }
    }

    /// The oldest first.
    private func messages() async throws -> [StoredMessage] {
        var messages: [StoredMessage] = []
        while true {
            let page = try await retention.messages(in: conversation, before: messages.last?.cursor)
            guard !page.isEmpty else { return messages.reversed() }
            messages += page
        }
    }

    private func release() async throws {
        _ = try signedIn()
        reply.lines.append("images released: \(try await retention.releaseAssets())")
    }

    private func delete(isConfirmed: Bool) async throws {
        let count = ChatOutput.language.messages(try await retention.messageCount(in: conversation))
        guard isConfirmed else {
            reply.lines.append("would be deleted here: \(count); with confirm behind it, this deletes them")
            return
        }
        reply.lines.append("deleted here: \(count)")
        ChatOutput.end(of: try await retention.deleteAll(in: conversation), &reply)
    }

    private func signedIn() throws -> CloakroomClient {
        guard let client else { throw CloakroomError(.tokenUnavailable, "not signed in") }
        return client
    }
}
