import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Synchronization
import Testing

/// Attachments that are kept while their message is being purged.
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
        let retention = await MessageRetention(
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
}
