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
        for start in stride(from: 0, to: count, by: 500) {
            _ = try await device.retention.admit(
                try (start..<min(start + 500, count)).map { number in
                    let other = quoted(number)
                    return try device.incoming(
                        "q\(number)", from: third, age: .seconds(count - number),
                        quotes: other.map { "q\($0)" } ?? "root", by: other == nil ? RetentionFixture.peer : third)
                })
        }
        return device
    }

    private func cut(_ device: RetentionFixture, version: Int64 = 9) async throws {
        let message = try device.said(.noStorage, version: version, cutBefore: device.clocks.reading.wall)
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

    private func reference(_ number: Int) throws -> MessageReference {
        MessageReference(try "q\(number)".asMessage, by: third, in: RetentionFixture.conversation)
    }

    @Test func `a very long chain is written in parts that keep the storage for a short time each`() async throws {
        let count = 6000
        let device = try await prepared(count) { $0 == count - 1 ? nil : $0 + 1 }
        try await cut(device)
        #expect(try await device.shown() == [])
        var calls = 0
        var scan: SQLiteMessageStorage.CutScan?
        repeat {
            scan = try await device.storage.applyCuts(in: RetentionFixture.conversation, after: scan)
            calls += 1
            // A change meanwhile has it begin anew, and end all the same.
            if calls == 3 {
                device.clocks.pass(.seconds(1))
                try await cut(device, version: 10)
            }
        } while scan != nil && calls < 1000
        // There and back along the chain, besides the messages.
        let once = count * 2 / QuoteChains.linksAtOnce + count / 128
        #expect((once + 1..<once * 2 + 20).contains(calls), "\(calls)")
        let left = try device.connect().first("SELECT count(*) FROM message WHERE deadline > base") { $0.integer(0) }
        #expect(left == 0)
    }

    @Test func `a chain that is followed in parts has the end that it has at once`() async throws {
        let count = 600
        let device = try await prepared(count) { $0 == 0 ? nil : $0 - 1 }
        try await cut(device)
        let last = try reference(count - 1)
        #expect(try await device.storage.settle([last], budget: .max).compactMap(\.self).count == 1)
        let whole = try await device.storage.settle([last], budget: .max)
        let parts = try await device.storage.settle([MessageReference](repeating: last, count: 20), budget: 64)
        #expect(parts.prefix(10).allSatisfy { $0 == nil })
        #expect(parts.last == whole.first)
    }

    @Test func `each link of a chain takes one of the budget there, and one back`() async throws {
        let count = 5
        let device = try await prepared(count) { $0 == 0 ? nil : $0 - 1 }
        try await cut(device)
        let last = try reference(count - 1)
        let whole = try await device.storage.settle([last], budget: .max)
        let steps = try await device.storage.settle([MessageReference](repeating: last, count: 2 * count), budget: 1)
        #expect(steps == [MessageTerm?](repeating: nil, count: 2 * count - 1) + whole)
    }

    /// Otherwise each message that arrives would have all of its conversation read again.
    @Test func `a message that no other one quotes changes nothing for the others`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        try await device.admit("m1")
        try await device.admit("q1", from: third, quotes: "m1")
        #expect(try await device.retention.purge().isComplete)
        try await device.admit("m2")
        #expect(try await device.storage.pendingCuts() == [])
    }

    @Test(arguments: [1, 2, 1000])
    func `a circle of messages is followed once for all of them`(count: Int) async throws {
        let device = try await prepared(count) { ($0 + 1) % count }
        // And one that leads into it.
        try await device.admit("q\(count)", from: third, quotes: "q0", by: third)
        // A cut of its own reaches one of them alone.
        let first = try device.connect().first("SELECT min(base) FROM message WHERE name LIKE 'q%'") { $0.integer(0) }
        let before = try #require(first)
        let message = try device.said(.oneHour, version: 9, cutBefore: before + 1, by: third)
        let register = try #require(message.register)
        try await device.storage.join(register, of: third, in: RetentionFixture.conversation)
        let messages = try (0...count).map { try reference($0) }
        let terms = try await device.storage.settle(messages, budget: 4 * count + 4, once: true)
        #expect(terms.allSatisfy { $0?.local == before + 3_600_000 }, "\(Set(terms.map { $0?.local }))")
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

    /// The peer's message, one of a third that quotes it, one that quotes that, and a change of the peer's, in some order.
    private func ends(_ order: [String], lateBy delay: Duration = .zero) async throws -> [String] {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        let sent = Milliseconds(device.clocks.now)
        device.clocks.pass(.seconds(10))
        for step in order {
            switch step {
            case "m": try await device.admit("m", .oneDay, relayTime: sent.date)
            case "q":
                try await device.admit("q", .oneDay, from: third, relayTime: (sent + 1000).date, quotes: "m")
            case "r":
                try await device.admit(
                    "r", .oneDay, from: third, relayTime: (sent + 2000).date, quotes: "q", by: third)
            case "wait": device.clocks.pass(delay)
            default: try await device.receive(device.said(.oneHour, version: 9, cutBefore: sent + 1))
            }
        }
        try await device.retention.purge()
        return try device.connect().rows("SELECT name, shared, deadline FROM message ORDER BY name") { row in
            "\(row.text(0)) \(row.integer(1) - sent) \(row.integer(2) - sent)"
        }
    }

    @Test func `the end of a message does not depend on whether what it quotes arrives before it`() async throws {
        let expected = try await ends(["m", "q", "r", "cut"])
        #expect(expected == ["m 3600000 3600000", "q 3600000 3600000", "r 3600000 3600000"])
        for order in [["q", "r", "cut", "m"], ["r", "cut", "q", "m"], ["r", "q", "m", "cut"]] {
            #expect(try await ends(order) == expected, "\(order)")
        }
    }

    @Test func `a message ends when what it quotes is over on arrival`() async throws {
        #expect(try await ends(["q", "r", "cut", "wait", "m"], lateBy: .seconds(3600)) == [])
        #expect(try await ends(["r", "cut", "wait", "m", "q"], lateBy: .seconds(3600)) == [])
    }
}

extension SQLiteMessageStorage {
    /// The ends of messages.
    ///
    /// - Parameters:
    ///   - budget: for each, or for all of them.
    ///   - once: `true`: for all of them.
    fileprivate func settle(
        _ messages: [MessageReference], budget: Int, once: Bool = false
    ) throws -> [MessageTerm?] {
        var chains = QuoteChains(budget: budget)
        return try messages.map { message in
            if !once { chains.budget = budget }
            guard let (row, conversation) = try row(rowID(message)) else { return nil }
            return try settledTerm(of: row.record, in: conversation, &chains)
        }
    }
}
