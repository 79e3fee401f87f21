import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// Messages that quote each other, in whatever number and order, end together when a change reaches back.
@Suite struct QuoteChainTests {
    private let third = RetentionFixture.participant("third")

    /// The peer's `root`, and messages of a third that quote it or each other, the last of which have no other reason to
    /// end.
    ///
    /// - Parameter quoted: of the message of a number, the number of the one that it quotes; `nil`: the root.
    private func prepared(_ count: Int, quoted: (Int) -> Int?) async throws -> RetentionFixture {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        try await device.admit("root", age: .seconds(count + 1))
        _ = try await device.retention.admit(
            try (0..<count).map { number in
                let other = quoted(number)
                return try device.incoming(
                    "q\(number)", from: third, age: .seconds(count - number),
                    quotes: other.map { "q\($0)" } ?? "root", by: other == nil ? RetentionFixture.peer : third)
            })
        return device
    }

    private func cut(_ device: RetentionFixture) async throws {
        let message = try device.said(.noStorage, version: 9, cutBefore: device.clocks.reading.wall)
        let register = try #require(message.register)
        try await device.storage.join(register, of: RetentionFixture.peer, in: RetentionFixture.conversation)
    }

    @Test(arguments: ["star", "chain", "reversed chain"])
    func `all are hidden at once, are written some at a time, and a kill resumes it`(shape: String) async throws {
        let count = 700
        let device = try await prepared(count) { number in
            switch shape {
            case "star": nil
            case "chain": number == 0 ? nil : number - 1
            // Each quotes one that was sent later; the last one the root.
            default: number == count - 1 ? nil : number + 1
            }
        }
        try await cut(device)
        #expect(try await device.shown() == [])
        var scan = try await device.storage.applyCuts(in: RetentionFixture.conversation, after: nil)
        #expect(scan != nil)
        let written = try device.connect().first("SELECT count(*) FROM message WHERE deadline = base") {
            $0.integer(0)
        }
        // No more at a time than the scan reads.
        #expect(try #require(written) <= 128)
        try await device.relaunchKilled()
        #expect(try await device.shown() == [])
        repeat {
            scan = try await device.storage.applyCuts(in: RetentionFixture.conversation, after: scan)
        } while scan != nil
        #expect(try await device.retention.purge().purgedCount == count + 1)
    }

    @Test func `messages that quote each other end with the first of them`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        try await device.admit("m1", age: .seconds(2), quotes: "q1", by: third)
        try await device.admit("q1", from: third, age: .seconds(1), quotes: "m1")
        try await device.admit("q2", from: third, quotes: "q1", by: third)
        device.clocks.pass(.seconds(1))
        try await cut(device)
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 3)
    }

    @Test func `what arrives while a change is written ends with what it quotes, also where that is written later`()
        async throws
    {
        let device = try await prepared(300) { _ in nil }
        try await cut(device)
        // Nothing is written yet, and this one is before all of them.
        #expect(
            try await device.admit("late", from: third, age: .seconds(1000), quotes: "q299", by: third)
                == .arrivedExpired)
        #expect(try await device.admit("kept", from: third) != .arrivedExpired)
        #expect(try await device.shown() == ["kept"])
    }
}
