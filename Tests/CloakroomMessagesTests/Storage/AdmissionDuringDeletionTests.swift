import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// A message that is not stored, and that is being admitted while its conversation is closed or deleted, is not there
/// afterwards.
@Suite struct AdmissionDuringDeletionTests {
    private let conversation = RetentionFixture.conversation

    /// A retention whose first reading of the clocks a test holds back.
    private struct HeldDevice {
        let device: RetentionFixture
        let retention: MessageRetention
        private let gate: Gate

        init() async throws {
            device = try await RetentionFixture()
            let (clocks, gate) = (device.clocks, Gate())
            self.gate = gate
            retention = try await MessageRetention(
                of: RetentionFixture.own, storage: device.storage, handlers: [device.handler], chatKeyPrefix: "chat/",
                read: {
                    await gate.pass()
                    return clocks.reading
                })
        }

        /// - Parameter ending: runs while a message is being admitted.
        func admit<Result: Sendable>(
            _ body: @escaping @Sendable (MessageRetention) async throws -> Result,
            during ending: (MessageRetention) async throws -> Void
        ) async throws -> Result {
            let retention = retention
            let admission = Task { try await body(retention) }
            await gate.arrival()
            do { try await ending(retention) } catch {
                await gate.open()
                throw error
            }
            await gate.open()
            return try await admission.value
        }
    }

    /// Holds the first one who passes.
    private actor Gate {
        private var hasArrived = false
        private var isOpen = false
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private var held: CheckedContinuation<Void, Never>?

        func pass() async {
            guard !hasArrived else { return }
            hasArrived = true
            for continuation in waiting { continuation.resume() }
            waiting = []
            guard !isOpen else { return }
            await withCheckedContinuation { held = $0 }
        }

        func arrival() async {
            guard !hasArrived else { return }
            await withCheckedContinuation { waiting.append($0) }
        }

        func open() {
            isOpen = true
            held?.resume()
            held = nil
        }
    }

    enum Ending: String, Sendable, CaseIterable {
        case closing, deleting, erasing

        func run(_ retention: MessageRetention) async throws {
            switch self {
            case .closing: try await retention.close(RetentionFixture.conversation)
            case .deleting: try await retention.deleteAll(in: RetentionFixture.conversation)
            case .erasing: try await retention.eraseEverything()
            }
        }
    }

    @Test(arguments: Ending.allCases)
    func `a message in memory that is being admitted ends with its conversation`(ending: Ending) async throws {
        let held = try await HeldDevice()
        let image = MessageAttachment(assetKey: "chat/1")
        let message = try held.device.incoming("m1", .noStorage, attachments: [image])
        let admission = try await held.admit({ try await $0.admit(message) }, during: ending.run)
        #expect(admission == .arrivedExpired)
        #expect(try await held.retention.messages(in: conversation) == [])
        #expect(try await held.retention.memory.record("m1".asReference) == nil)
        // What handlers and caches may have of it goes, and it does not come again.
        try await held.retention.purge()
        #expect(held.device.handler.ids == ["m1"])
        #expect(try held.device.count("memory_image") == 0)
        #expect(try held.device.count("memory_note") == 0)
        #expect(try await held.retention.admit(message) == .replay)
        // And another one does.
        let next = try held.device.incoming("m2", .noStorage)
        #expect(try await held.retention.admit(next) != .arrivedExpired)
        #expect(try await held.retention.messages(in: conversation).map(\.id.rawValue) == ["m2"])
    }

    @Test(arguments: Ending.allCases)
    func `what this user writes while a conversation ends is sent, and not there afterwards`(
        ending: Ending
    ) async throws {
        let held = try await HeldDevice()
        let message = OutgoingMessage(id: try "m1".asMessage, in: conversation, body: Data("secret".utf8))
        let stamp = try await held.admit({ try await $0.keep(message) }, during: ending.run)
        #expect(stamp.policy == .noStorage)
        #expect(try await held.retention.messages(in: conversation) == [])
    }

    @Test func `closing a conversation leaves what is being admitted to another one`() async throws {
        let held = try await HeldDevice()
        let message = try held.device.incoming("m1", .noStorage)
        let admission = try await held.admit({ try await $0.admit(message) }) {
            try await $0.close(RetentionFixture.conversation("c2"))
        }
        #expect(admission != .arrivedExpired)
        #expect(try await held.retention.messages(in: conversation).count == 1)
    }

    @Test func `erasing everything tells handlers of what was admitted until nothing more is`() async throws {
        let device = try await RetentionFixture()
        let message = try device.incoming("m1", .noStorage)
        let admissions = try await device.storage.admit(
            [
                ArrivingMessage(
                    draft: MessageDraft(
                        id: message.id, conversation: conversation, author: RetentionFixture.peer, stamp: .noStorage,
                        body: message.body, attachments: []))
            ], reading: device.clocks.reading)
        #expect(admissions.count == 1)
        let inMemory = try await device.storage.beginErasing()
        #expect(inMemory.map(\.id.rawValue) == ["m1"])
    }
}
