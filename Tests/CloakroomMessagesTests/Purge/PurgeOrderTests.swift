import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// What does not wait for handlers.
@Suite struct PurgeOrderTests {
    @Test func `a change that reaches back is written while a handler throws`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("memory", .noStorage)
        try await device.admit("stored", .keep)
        device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
        await #expect(throws: CloakroomError.self) { try await device.retention.close(RetentionFixture.conversation) }
        device.clocks.pass(.seconds(3600))
        // As after a kill before it was written.
        let said = try device.said(.oneHour, version: 9, cutBefore: device.clocks.reading.wall)
        let register = try #require(said.register)
        try await device.storage.join(register, of: RetentionFixture.peer, in: RetentionFixture.conversation)
        #expect(try await device.storage.pendingCuts() == [RetentionFixture.conversation])
        #expect(try await device.retention.purge().stoppedBy?.code == .storeFailed)
        #expect(try await device.storage.pendingCuts() == [])
        let deadline = try device.connect().first("SELECT deadline - base FROM message") { $0.integer(0) }
        #expect(deadline == 3_600_000)
        device.handler.fail(with: nil)
        #expect(try await device.retention.purge().purgedCount == 1)
    }
}
