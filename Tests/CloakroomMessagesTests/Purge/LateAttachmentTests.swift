import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Synchronization
import Testing

/// Attachments that get their bytes, or their object in the bucket, after their message was kept.
@Suite struct LateAttachmentTests {
    /// Keeps bytes of the messages that it is to remove.
    private final class KeepingHandler: ExpiredMessageHandler {
        private let state = Mutex<(retention: MessageRetention?, kept: [AttachmentFile?])>((nil, []))

        var kept: [AttachmentFile?] { state.withLock { $0.kept } }

        func use(_ retention: MessageRetention) { state.withLock { $0.retention = retention } }

        func remove(_ messages: [MessageReference]) async throws {
            let retention = state.withLock { $0.retention }
            for message in messages {
                let file = try await retention?.keepAttachment(Data("late".utf8), at: 0, of: message)
                state.withLock { $0.kept.append(file) }
            }
        }
    }

    @Test(arguments: [false, true])
    func `bytes that a handler keeps of a message that is being purged are in no file`(hasFormer: Bool) async throws {
        let device = try await RetentionFixture()
        let handler = KeepingHandler()
        let clocks = device.clocks
        let retention = try await MessageRetention(
            of: RetentionFixture.own, storage: device.storage, handlers: [handler], chatKeyPrefix: "chat/",
            read: { clocks.reading })
        handler.use(retention)
        try await device.want(.keep)
        try await device.admit("due", .oneHour, attachments: [.init(assetKey: "chat/1")])
        try await device.admit("live", attachments: [.init(assetKey: "chat/2")])
        if hasFormer { try await retention.keepAttachment(Data("early".utf8), at: 0, of: "due".asReference) }
        device.clocks.pass(.seconds(3600))
        #expect(try await retention.purge().purgedCount == 1)
        #expect(handler.kept == [nil])
        #expect(device.attachmentFiles == [])
        // And of one that is not, they are.
        let file = try #require(try await retention.keepAttachment(Data([1]), at: 0, of: "live".asReference))
        #expect(device.attachmentFiles == [file.rawValue])
    }

    // MARK: Images that are uploaded later

    /// Keeps a message of this user's whose image is not uploaded yet.
    private func keep(_ id: String, on device: RetentionFixture) async throws -> MessageReference {
        _ = try await device.retention.keep(
            OutgoingMessage(
                id: try id.asMessage, in: RetentionFixture.conversation, body: RetentionFixture.body(id),
                attachments: [MessageAttachment(assetKey: nil)]))
        return try id.asOwn
    }

    private func attach(
        _ key: String, _ token: String? = "token", at position: Int = 0, to message: MessageReference,
        on device: RetentionFixture
    ) async throws -> Bool {
        try await device.retention.setAttachment(
            assetKey: key, releaseToken: token, at: position, of: message)
    }

    @Test(arguments: [MessageRetentionPolicy.oneHour, .noStorage])
    func `an image that is uploaded after its message was kept goes with it`(
        policy: MessageRetentionPolicy
    ) async throws {
        let device = try await RetentionFixture()
        try await device.want(policy)
        let message = try await keep("m1", on: device)
        let image = MessageAttachment(assetKey: "chat/1", releaseToken: "token")
        // Repeated, as when it could not be sent, also without the token.
        for token in ["token", "token", nil] {
            #expect(try await attach("chat/1", token, to: message, on: device))
            #expect(try await device.retention.message(message)?.attachments == [image])
        }
        #expect(try await device.retention.releaseAssets() == 0)
        if policy == .noStorage {
            #expect(try device.files(with: Data("chat/1".utf8)) == [])
            try await device.relaunchKilled()
        } else {
            device.clocks.pass(.seconds(3600))
        }
        #expect(try await device.retention.purge().releaseCount == 1)
        #expect(try await device.retention.hasEnded(assetKey: "chat/1"))
        #expect(device.cache.keys == ["chat/1"])
        #expect(try await device.retention.releaseAssets() == 1)
        #expect(try device.count("release") == 0)
    }

    @Test func `a message whose image was not uploaded when the app was killed gets it in another launch`() async throws
    {
        let device = try await RetentionFixture()
        try await device.want(.oneDay)
        let message = try await keep("m1", on: device)
        try await device.retention.keepAttachment(Data([1]), at: 0, of: message)
        try await device.relaunchKilled()
        let waiting = try #require(try await device.retention.message(message)?.attachments.first)
        #expect(waiting.assetKey == nil)
        let file = try #require(waiting.file)
        #expect(try await device.retention.attachment(file) == Data([1]))
        #expect(try await attach("chat/1", to: message, on: device))
        try await device.relaunchKilled()
        #expect(
            try await device.retention.message(message)?.attachments
                == [MessageAttachment(assetKey: "chat/1", releaseToken: "token", file: file)])
    }

    enum Ending: String, Sendable, CaseIterable {
        case purged, deleted, deletedWithOthers, closed, killed

        var policy: MessageRetentionPolicy { self == .closed || self == .killed ? .noStorage : .oneHour }

        func run(_ message: MessageReference, on device: RetentionFixture) async throws {
            switch self {
            case .purged:
                device.clocks.pass(.seconds(3600))
                try await device.retention.purge()
            case .deleted: try await device.retention.delete(message)
            case .deletedWithOthers: try await device.retention.deleteAll(in: message.conversation)
            case .closed: try await device.retention.close(message.conversation)
            case .killed: try await device.relaunchKilled()
            }
        }
    }

    @Test(arguments: Ending.allCases)
    func `an image whose message ended before it was uploaded is released at once`(ending: Ending) async throws {
        let device = try await RetentionFixture()
        try await device.want(ending.policy)
        let message = try await keep("m1", on: device)
        try await ending.run(message, on: device)
        let changes = await device.retention.changes
        #expect(try await !attach("chat/1", to: message, on: device))
        #expect(await device.retention.changes > changes)
        #expect(try await device.retention.hasEnded(assetKey: "chat/1"))
        #expect(try await device.retention.releaseAssets() == 1)
        // Once.
        #expect(try await !attach("chat/1", to: message, on: device))
        #expect(try await device.retention.releaseAssets() == 0)
    }

    /// Uploads images of the messages that it is to remove.
    private final class UploadingHandler: ExpiredMessageHandler {
        private let state = Mutex<(retention: MessageRetention?, outcomes: [Bool])>((nil, []))

        var outcomes: [Bool] { state.withLock { $0.outcomes } }

        func use(_ retention: MessageRetention) { state.withLock { $0.retention = retention } }

        func remove(_ messages: [MessageReference]) async throws {
            guard let retention = state.withLock({ $0.retention }) else { return }
            for message in messages {
                let outcome = try await retention.setAttachment(
                    assetKey: "chat/1", releaseToken: "token", at: 0, of: message)
                state.withLock { $0.outcomes.append(outcome) }
            }
        }
    }

    @Test(arguments: [MessageRetentionPolicy.oneHour, .noStorage])
    func `an image that is uploaded while its message is being removed is released at once`(
        policy: MessageRetentionPolicy
    ) async throws {
        let device = try await RetentionFixture()
        let (handler, clocks) = (UploadingHandler(), device.clocks)
        let retention = try await MessageRetention(
            of: RetentionFixture.own, storage: device.storage, handlers: [handler], releaser: device.releaser,
            chatKeyPrefix: "chat/", read: { clocks.reading })
        handler.use(retention)
        try await retention.updateRetentionPolicy(
            policy, in: RetentionFixture.conversation, applyingTo: .newMessages)
        _ = try await retention.keep(
            OutgoingMessage(
                id: "m1".asMessage, in: RetentionFixture.conversation, body: Data(),
                attachments: [MessageAttachment(assetKey: nil)]))
        device.clocks.pass(.seconds(3600))
        try await retention.close(RetentionFixture.conversation)
        try await retention.purge()
        #expect(handler.outcomes == [false])
        #expect(try await retention.releaseAssets() == 1)
        #expect(device.releaser.keys == ["chat/1"])
    }

    @Test func `an attachment keeps the object that it got first, and the bucket deletes the other`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        let message = try await keep("m1", on: device)
        #expect(try await attach("chat/1", to: message, on: device))
        #expect(try await !attach("chat/2", to: message, on: device))
        // And where there is no attachment.
        #expect(try await !attach("chat/3", at: 1, to: message, on: device))
        #expect(try await device.retention.releaseAssets() == 2)
        #expect(device.releaser.keys == ["chat/2", "chat/3"])
        #expect(try await device.retention.message(message)?.attachments.map(\.assetKey) == ["chat/1"])
    }

    @Test(arguments: [MessageRetentionPolicy.oneHour, .noStorage])
    func `an image that waits for its release goes with the message that gets it, too`(
        policy: MessageRetentionPolicy
    ) async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        let first = try await keep("m1", on: device)
        #expect(try await attach("chat/1", to: first, on: device))
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().releaseCount == 1)
        try await device.want(policy)
        let second = try await keep("m2", on: device)
        #expect(try await attach("chat/1", nil, to: second, on: device))
        #expect(try await device.retention.releaseAssets() == 0)
        #expect(try await !device.retention.hasEnded(assetKey: "chat/1"))
        device.clocks.pass(.seconds(3600))
        try await device.retention.close(RetentionFixture.conversation)
        try await device.retention.purge()
        #expect(try await device.retention.releaseAssets() == 1)
    }

    @Test(arguments: [MessageRetentionPolicy.keep, .noStorage])
    func `an image that others have is not released early by saying again that it is uploaded`(
        policy: MessageRetentionPolicy
    ) async throws {
        let device = try await RetentionFixture()
        // What it was sent with, and what is kept here.
        try await device.want(policy)
        try await device.admit(
            "m1", .oneDay, from: RetentionFixture.own, attachments: [MessageAttachment(assetKey: nil)])
        let message = try "m1".asOwn
        #expect(try await attach("chat/1", to: message, on: device))
        device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
        _ = try await device.retention.delete(message)
        // While it is being removed, and when it is gone.
        #expect(try await !attach("chat/1", to: message, on: device))
        #expect(try await device.retention.releaseAssets() == 0)
        device.handler.fail(with: nil)
        try await device.retention.purge()
        #expect(try await !attach("chat/1", to: message, on: device))
        #expect(try await device.retention.releaseAssets() == 0)
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.releaseAssets() == 1)
    }

    @Test func `of another participant's message the object is known, and no token is kept`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        try await device.admit("m1", attachments: [MessageAttachment(assetKey: nil)])
        let message = try "m1".asReference
        #expect(try await attach("chat/1", "forged", to: message, on: device))
        #expect(try await device.retention.message(message)?.attachments == [MessageAttachment(assetKey: "chat/1")])
        #expect(try await !attach("chat/2", "forged", to: "unknown".asReference, on: device))
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().releaseCount == 0)
        #expect(try await device.retention.hasEnded(assetKey: "chat/1"))
        #expect(try device.count("release") == 0)
    }
}
