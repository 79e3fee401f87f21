import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// A record of the time that is damaged or lost has nothing purged early, and shows nothing that is over.
@Suite struct DamagedClockTests {
    enum Damage: String, Sendable, CaseIterable {
        case empty = ""
        case cut = #"{"last":{"wall":18"#
        case otherForm = #"{"version":2}"#
        case number = "7"
        case removed = "removed"
        /// An earlier run than that of a message.
        case impossible = "impossible"
    }

    /// Another launch, with a damaged record.
    private func relaunch(_ device: RetentionFixture, _ damage: Damage) async throws {
        await device.storage.release()
        let database = try device.connect()
        switch damage {
        case .removed: try database.run("DELETE FROM clock")
        case .impossible:
            let clock = RetentionClock(at: .init(wall: device.clocks.reading.wall, continuous: 1, boot: "x"))
            try MessageDatabase.store(clock, in: database)
        default: try database.run("UPDATE clock SET state = ?", [.text(damage.rawValue)])
        }
        database.close()
        try await device.relaunchKilled()
    }

    /// With messages by the relay's time, the server's and the device's own.
    private func prepared() async throws -> RetentionFixture {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("relay", .oneDay, relayTime: device.clocks.now)
        try await device.admit("server", .oneDay)
        device.clocks.restart(after: .seconds(600))
        try await device.relaunch()
        try await device.admit("own", .oneDay)
        return device
    }

    @Test(arguments: Damage.allCases)
    func `a clock that is ahead then hides, and purges nothing`(damage: Damage) async throws {
        let device = try await prepared()
        device.clocks.set(by: .seconds(3 * 86_400))
        try await relaunch(device, damage)
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 0)
        device.clocks.pass(.seconds(60))
        #expect(try await device.retention.purge().purgedCount == 0)
        device.clocks.set(by: .seconds(-3 * 86_400))
        #expect(try await device.shown() == ["relay", "server", "own"])
        #expect(try await device.retention.purge().purgedCount == 0)
        let keys = await device.storage.keyTable.ids
        #expect(keys.contains { !$0.slot.isEndless })
    }

    @Test(arguments: Damage.allCases)
    func `what is over is hidden, and purged by the server's time or after a day of agreement`(
        damage: Damage
    ) async throws {
        for isServerHeard in [true, false] {
            let device = try await prepared()
            device.clocks.pass(.seconds(4 * 86_400))
            try await relaunch(device, damage)
            #expect(try await device.shown() == [])
            #expect(try await device.retention.purge().purgedCount == 0)
            if isServerHeard {
                device.clocks.hearServer()
                // What the device's own clock measured is over for certain a day later.
                #expect(try await device.retention.purge().purgedCount == 2)
            }
            device.clocks.pass(.seconds(43_200))
            try await device.retention.purge()
            device.clocks.pass(.seconds(43_200))
            try await device.retention.purge()
            #expect(try device.count("message") == 0)
        }
    }

    @Test(arguments: Damage.allCases)
    func `a change that reaches back still ends what was sent before it, and nothing else`(
        damage: Damage
    ) async throws {
        let device = try await RetentionFixture(server: false)
        try await device.want(.keep)
        device.clocks.restart(after: .seconds(60))
        try await device.relaunch()
        try await device.admit("before", .oneWeek)
        device.clocks.pass(.seconds(1))
        let said = try device.said(.oneHour, version: 9, cutBefore: device.clocks.reading.wall)
        device.clocks.pass(.seconds(9))
        try await device.admit("after", .oneWeek)
        // As after a kill before it was written.
        let register = try #require(said.register)
        try await device.storage.join(register, of: RetentionFixture.peer, in: RetentionFixture.conversation)
        device.clocks.pass(.seconds(7200))
        try await relaunch(device, damage)
        #expect(try await device.shown() == ["after"])
        try await device.retention.purge()
        #expect(try await device.shown() == ["after"])
    }

    @Test(arguments: Damage.allCases)
    func `what arrives afterwards lasts as long as it should`(damage: Damage) async throws {
        let device = try await prepared()
        try await relaunch(device, damage)
        try await device.admit("new", .oneHour)
        device.clocks.pass(.seconds(3599))
        // It may be before others, as it is not known how late it is.
        #expect(try await Set(device.shown()) == ["relay", "server", "own", "new"])
        device.clocks.pass(.seconds(1))
        #expect(try await device.shown() == ["relay", "server", "own"])
        #expect(try await device.retention.purge().purgedCount == 1)
        // And the record is whole again.
        try await device.relaunchKilled()
        device.clocks.hearServer()
        #expect(try await device.shown() == ["relay", "server", "own"])
    }
}
