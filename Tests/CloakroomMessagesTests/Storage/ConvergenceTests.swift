import CloakroomKit
import CloakroomKitTestSupport
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// Devices that hear the same, in whatever order and how often, know the same in the end.
@Suite(.serialized) struct ConvergenceTests {
    /// What reaches each device, once or more.
    private enum Delivery {
        case policy(RetentionPolicyMessage, from: ParticipantID)
        case message(IncomingMessage)
    }

    @Test(arguments: [UInt64(1), 2, 3, .random(in: 4...999_999_999), .random(in: 4...999_999_999)])
    func `three storages end up with the same policies, deadlines and tombstones`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("convergence-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let clocks = TestClocks()
        let deliveries = try history(from: clocks, &random)
        let sent = deliveries.count { if case .message = $0 { true } else { false } }
        clocks.pass(.seconds(7200))

        var states: [State] = []
        for number in 0..<3 {
            var device = try await OpenDevice(
                in: folder.appendingPathComponent("\(number)", isDirectory: true), clocks: clocks)
            try await device.keepAll()
            var order = deliveries.shuffled(using: &random)
            order += deliveries.shuffled(using: &random).prefix(deliveries.count / 3)
            for delivery in order {
                try await deliver(delivery, to: device)
                switch Int.random(in: 0..<25, using: &random) {
                case 0: #expect(try await device.retention.purge().stoppedBy == nil)
                case 1: device = try await device.relaunched()
                default: break
                }
            }
            #expect(try await device.retention.purge().stoppedBy == nil)
            states.append(try State(of: device))
            await device.storage.close()
        }
        // A cut near the end of a history may leave no message, so only the named histories must have both.
        if seed <= 3 {
            #expect(states[0].messages.count > 10 && states[0].tombstones > 10, "seed \(seed): \(states[0])")
        }
        #expect(Int64(states[0].messages.count) + states[0].tombstones >= sent, "seed \(seed): \(states[0])")
        #expect(states[1] == states[0], "seed \(seed)")
        #expect(states[2] == states[0], "seed \(seed)")
    }

    /// An hour of what peers write and want.
    private func history(from clocks: TestClocks, _ random: inout SeededGenerator) throws -> [Delivery] {
        let peers = ["b", "c", "d"].map { RetentionFixture.participant($0) }
        var registers: [ParticipantID: RetentionRegister] = [:]
        var deliveries: [Delivery] = []
        for number in 0..<120 {
            clocks.pass(.seconds(30))
            let peer = peers[Int.random(in: 0..<3, using: &random)]
            if Int.random(in: 0..<4, using: &random) == 0 {
                let policies: [MessageRetentionPolicy] = [.oneHour, .oneDay, .oneWeek, .keep]
                let policy = policies.randomElement(using: &random) ?? .oneDay
                let former = registers[peer]
                var cuts = former?.cuts ?? RetentionCuts()
                if Bool.random(using: &random) {
                    cuts = cuts.joined(RetentionCuts(policy, before: clocks.reading.wall + 1))
                }
                let register = RetentionRegister(
                    version: former?.version.next ?? .first, policy: policy, cuts: cuts)
                registers[peer] = register
                deliveries.append(
                    .policy(
                        RetentionPolicyMessage(register, of: peer, in: RetentionFixture.conversation), from: peer))
            } else {
                let policy: MessageRetentionPolicy =
                    [.oneHour, .oneHour, .oneDay, .oneWeek, .keep].randomElement(using: &random) ?? .oneDay
                deliveries.append(
                    .message(
                        try OpenDevice.message("m\(number)", policy, from: peer, relayTime: clocks.reading.wall.date)))
            }
        }
        return deliveries
    }

    private func deliver(_ delivery: Delivery, to device: OpenDevice) async throws {
        switch delivery {
        case .policy(let message, let sender):
            try await device.retention.receive(
                message, from: AuthenticatedSender(sender, in: RetentionFixture.conversation))
        case .message(let message): _ = try await device.retention.admit(message)
        }
    }

    /// All that is the same on devices of one user; names are hashed with a key of each device.
    private struct State: Equatable {
        var messages: [String]
        var registers: [String]
        var cuts: [String]
        var tombstones: Int64

        init(of device: OpenDevice) throws {
            let database = try SQLiteDatabase(at: device.folder.appendingPathComponent("messages.sqlite").path)
            func lines(_ sql: String) throws -> [String] { try database.rows(sql) { $0.text(0) } }
            messages = try lines(
                """
                SELECT name || ' ' || author || ' ' || base || ' ' || ifnull(stamp, 'keep') || ' '
                    || ifnull(shared, 'never') || ' ' || ifnull(deadline, 'never') FROM message ORDER BY name
                """)
            registers = try lines(
                "SELECT author || ' ' || version || ' ' || ifnull(after_sent, 'keep') FROM register ORDER BY author")
            cuts = try lines("SELECT author || ' ' || after_sent || ' ' || before FROM cut ORDER BY author, after_sent")
            tombstones =
                try database.first("SELECT count(*) FROM \(RetentionFixture.tombstones)") { $0.integer(0) } ?? 0
        }
    }
}
