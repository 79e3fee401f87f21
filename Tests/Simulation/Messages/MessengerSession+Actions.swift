import CloakroomKit
import CloakroomKitTestSupport
import Foundation

@testable import CloakroomMessages

/// What a user does, and what comes from others.
extension MessengerSession {
    // MARK: The agreement

    private static let policies = [900, 3600, 3600, 3600, 10_800, 10_800, 28_800, 28_800, 86_400, 86_400, 259_200]
        .compactMap { MessageRetentionPolicy(afterSent: .seconds($0)) }

    func change(_ conversation: Conversation) async throws {
        var policy = Self.policies.randomElement(using: &launch.random)!
        let kind = draw(14)
        if !launch.isLast, kind == 0 { policy = .noStorage }
        if !launch.isLast, kind == 1 { policy = .keep }
        let scope: HistoryScope = draw(4) == 0 ? .history : .newMessages
        let before = try await storage.registers(in: conversation.id)
        let isCertain = await storage.clock.isSharedTimeCertain
        let cut =
            scope == .newMessages
            ? nil
            : RetentionCuts.duration(of: policy).map { duration in
                MessageLedger.Cut(
                    conversation: conversation.id, author: messenger.user, seconds: Double(duration) / 1000,
                    time: ledger.now, isCertain: isCertain)
            }
        if let cut { ledger.cut(cut, on: name, isDone: false) }
        let message = try await retention.updateRetentionPolicy(policy, in: conversation.id, applyingTo: scope)
        await launch.process.check()
        if let cut { ledger.cut(cut, on: name, isDone: true) }
        ledger.changed(
            conversation, by: messenger.user, to: message.register?.version.number ?? 0, knowing: before)
        Trace.note(name, "wants \(policy.text) in \(conversation.id.rawValue)\(scope == .history ? ", of all" : "")")
        messenger.chosen.insert(conversation.id)
        if isOnline { _ = post(.control(message.data), conversation) }
    }

    /// The whole of what this user has said, at each connect.
    func connect(_ conversation: Conversation) async throws {
        let message = try await retention.controlMessage(in: conversation.id)
        await launch.process.check()
        _ = post(.control(message.data), conversation)
    }

    private func post(_ content: Letter.Content, _ conversation: Conversation) -> PostOffice.Outcome {
        messenger.office.send(
            Letter(conversation: conversation.id, sender: messenger.own, content: content), from: name,
            to: messenger.devices[conversation.id] ?? [], hasRelay: conversation.hasRelay)
    }

    // MARK: Letters

    func receive() async throws {
        var rest = messenger.office.letters(for: name)[...]
        if rest.count > 0 { Trace.note(name, "gets \(rest.count) letters") }
        while let (number, letter) = rest.first {
            if case .control(let data) = letter.content {
                try await receive(data, letter)
                messenger.office.take([number], of: name)
                rest.removeFirst()
                continue
            }
            // As many as the app admits at once.
            var ids: Set<MessageID> = []
            let many = rest.prefix(1 + draw(6)).prefix { $0.letter.messageID.map { ids.insert($0).inserted } ?? false }
            try await admit(many.map(\.letter))
            messenger.office.take(Set(many.map(\.number)), of: name)
            rest = rest.dropFirst(many.count)
        }
    }

    private func receive(_ data: Data, _ letter: Letter) async throws {
        let sender = AuthenticatedSender(letter.sender, in: letter.conversation)
        guard let message = try RetentionPolicyMessage.decoded(data, from: sender) else {
            Finding.end("\(name) does not know a control message as one")
        }
        do {
            try await retention.receive(message, from: sender)
            await launch.process.check()
        } catch let error as CloakroomError where error.code == .invalidControlMessage {
            // By a clock that was far ahead: it is sent again.
            Trace.note(name, "refuses a control message of \(letter.sender.rawValue): \(error.message)")
            Trace.reached(.controlRefused)
            return
        }
        if let version = message.register?.version.number {
            ledger.heard(version, of: letter.sender.rawValue, letter.conversation, on: name)
        }
    }

    private func admit(_ letters: [Letter]) async throws {
        var messages: [(entry: MessageLedger.Entry, incoming: IncomingMessage)] = []
        for letter in letters {
            guard case .message(let id, let stamp, let body, let assetKeys) = letter.content,
                let entry = ledger.entry(id), let stamp = try MessageStamp.decoded(stamp)
            else { Finding.end("\(name) cannot read a letter") }
            let sender = AuthenticatedSender(letter.sender, in: letter.conversation)
            let own = try await retention.retentionPolicy(in: letter.conversation)
            let isServerKnown = await hearsServer()
            await launch.process.check()
            ledger.arrives(
                entry, at: name,
                oracle.arrival(launch, own, relayTime: letter.relayTime, isServerKnown: isServerKnown))
            messages.append(
                (
                    entry,
                    IncomingMessage(
                        id: id, sender: sender, stamp: stamp, relayTime: letter.relayTime, body: body,
                        attachments: assetKeys.map { MessageAttachment(assetKey: $0) })
                ))
        }
        let admissions = try await retention.admit(messages.map(\.incoming))
        await launch.process.check()
        for (message, admission) in zip(messages, admissions) {
            oracle.admitted(message.entry, admission, launch)
            guard case .kept = admission, message.incoming.attachments.count > 0 else { continue }
            // As it was downloaded.
            let bytes = Data.named(message.incoming.attachments[0].assetKey ?? "", count: 300)
            _ = try await retention.keepAttachment(bytes, at: 0, of: message.incoming.reference)
            await launch.process.check()
        }
    }

    // MARK: Messages

    func write() async throws {
        let conversation = messenger.conversations.randomElement(using: &launch.random)!
        var attachments: [MessageAttachment] = []
        if draw(3) == 0, isOnline { attachments = try await image().map { [$0] } ?? [] }
        // Now and then one of two messages with the same image.
        let others = messenger.conversations.filter { $0.id != conversation.id }
        let isForwarded = draw(4) == 0
        for place in [conversation] + (isForwarded && attachments.count > 0 ? others : []) {
            try await keep(attachments, in: place)
        }
    }

    private func keep(_ attachments: [MessageAttachment], in conversation: Conversation) async throws {
        let own = try await retention.retentionPolicy(in: conversation.id)
        let stamp = try await retention.stamp(in: conversation.id)
        let isServerKnown = await hearsServer()
        await launch.process.check()
        let entry = ledger.write(
            in: conversation, by: messenger.user, stamp: stamp.policy, assetKeys: attachments.compactMap(\.assetKey))
        guard let id = MessageID(rawValue: "m_\(entry.number)") else { return }
        ledger.arrives(entry, at: name, oracle.arrival(launch, own, relayTime: nil, isServerKnown: isServerKnown))
        let overBefore = try await retention.arrivedExpiredCount(in: conversation.id)
        let kept = try await retention.keep(
            OutgoingMessage(id: id, in: conversation.id, body: entry.body, attachments: attachments))
        await launch.process.check()
        // By a change that reaches what is written after it, where the time is not known.
        let isOver = try await retention.arrivedExpiredCount(in: conversation.id) > overBefore
        await launch.process.check()
        Finding.require(kept.policy == stamp.policy, "\(name): message \(entry.number) has another stamp than was said")
        oracle.admitted(entry, isOver ? .arrivedExpired : .kept(until: nil), launch)
        Trace.note(
            name,
            "writes message \(entry.number), kept for \(stamp.policy.text)\(entry.assetKeys.map { ", with \($0)" }.joined())"
        )
        let reference = MessageReference(id, by: messenger.own, in: conversation.id)
        if attachments.count > 0, !isOver {
            _ = try await retention.keepAttachment(Data.named("\(entry.number)", count: 300), at: 0, of: reference)
            await launch.process.check()
        }
        messenger.outgoing.append(
            Messenger.Outgoing(number: entry.number, reference: reference, assetKeys: entry.assetKeys))
    }

    private func image() async throws -> MessageAttachment? {
        let uploads = AssetUploader(uploader: client, releasesChatImages: true, runtime: launch.runtime)
        do {
            let bytes = Data.named("\(name)/\(ledger.images.count)", count: 700)
            let image = try await uploads.uploadChatImage(UploadContent(bytes, contentType: "image/jpeg"))
            ledger.images[image.objectKey] = MessageLedger.Image(device: name, time: ledger.now)
            Finding.require(image.releaseToken != nil, "\(name): an image of a chat has no token")
            return MessageAttachment(assetKey: image.objectKey, releaseToken: image.releaseToken)
        } catch {
            Finding.require(!launch.isLast, "\(name): no image can be uploaded after the faults: \(error)")
            return nil
        }
    }

    /// What was written leaves, with its policy of then and its age.
    func send() async throws {
        var putOff: Set<Int> = []
        defer { messenger.putOff = putOff }
        for message in messenger.outgoing {
            let entry = ledger.entries[message.number]
            let stamp: MessageStamp?
            do { stamp = try await retention.stamp(of: message.reference) } catch let error as CloakroomError
                where error.code == .unavailable
            {
                Trace.reached(.sendPutOff)
                putOff.insert(message.number)
                continue
            }
            await launch.process.check()
            guard let stamp else {
                oracle.isNotSent(entry, launch)
                messenger.outgoing.removeAll { $0.number == message.number }
                continue
            }
            Finding.require(
                stamp.policy == entry.stamp, "\(name): message \(entry.number) is sent with another policy than its own"
            )
            let outcome = post(
                .message(
                    id: message.reference.id, stamp: stamp.data, body: entry.body, assetKeys: message.assetKeys),
                entry.conversation)
            if case .accepted = outcome { messenger.outgoing.removeAll { $0.number == message.number } }
        }
    }

    // MARK: Ends

    func delete() async throws {
        let conversation = messenger.conversations.randomElement(using: &launch.random)!
        Trace.note(name, "deletes \(conversation.id.rawValue)")
        let images = ledger.ownImages(in: conversation, on: name)
        ledger.delete(conversation.id, on: name, isDone: false)
        try await retention.deleteAll(in: conversation.id)
        await launch.process.check()
        ledger.delete(conversation.id, on: name, isDone: true)
        if Plant.current == .imageGoesWithOneCopy { for key in images { messenger.world.store.s3.remove(key) } }
    }

    func close() async throws {
        let conversation = messenger.conversations.randomElement(using: &launch.random)!
        ledger.close(conversation.id, on: name, isDone: false)
        do { try await retention.close(conversation.id) } catch let error as CloakroomError
            where error.code == .unavailable
        {}
        await launch.process.check()
        ledger.close(conversation.id, on: name, isDone: true)
    }
}

extension MessageRetentionPolicy {
    /// For people.
    var text: String {
        guard let afterSent else { return "ever" }
        return self == .noStorage ? "no time" : "\(afterSent.components.seconds) s"
    }
}
