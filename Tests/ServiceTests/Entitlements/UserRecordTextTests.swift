import CloakroomOperations
import Foundation
import Testing

@testable import CloakroomServer

struct UserRecordTextTests {
    private func record() -> UserRecord {
        var record = UserRecord()
        record.tier = "gold"
        record.subscriptionEnd = Date(timeIntervalSince1970: 1_800_000_000)
        record.storageUsed = 12
        record.storageLimit = 34
        return record
    }

    @Test func `a table has each value below its heading`() throws {
        let row = record().row(of: try #require(UserID("u_1")))
        let values = [
            "user": "u_1", "tier": "gold", "subscriptionEnd": "2027-01-15T08:00:00Z", "storageUsed": "12",
            "storageLimit": "34", "state": "enabled",
        ]
        for (name, value) in values {
            let start = try #require(UserRecord.heading.range(of: name)).lowerBound
            let column = UserRecord.heading.distance(from: UserRecord.heading.startIndex, to: start)
            #expect(row.dropFirst(column).hasPrefix(value), "\(name)")
        }
    }

    @Test func `a tier that the settings lack is marked`() throws {
        let user = try #require(UserID("u_1"))
        let marked = record().lines(of: user, isTierUnknown: true).split(separator: "\n")
        #expect(marked.contains("tier                gold (not in the settings)"))
        #expect(record().row(of: user, isTierUnknown: true).hasSuffix(" enabled, tier not in the settings"))
        #expect(record().json(of: user, isTierUnknown: true).contains(#""tier":"gold""#))
        #expect(record().json(of: user, isTierUnknown: true).hasSuffix(#","tierIsUnknown":true}"#))
        for text in [record().lines(of: user), record().row(of: user), record().json(of: user)] {
            #expect(!text.contains("settings") && !text.contains("tierIsUnknown"))
        }
    }

    @Test(arguments: [("", false), ("tiers: {free: {}, gold: {}}", false), ("tiers: {free: {}, premium: {}}", true)])
    func `the settings lack a tier where they have some, and not this one`(text: String, isLacking: Bool) throws {
        #expect(try settings(smallest(text)).lacksTier(of: record()) == isLacking)
        #expect(try !settings(smallest(text)).lacksTier(of: UserRecord()))
    }

    @Test func `what a record does not say is a dash in a table`() throws {
        let row = UserRecord().row(of: try #require(UserID("u_1")))
        #expect(row.split(separator: " ") == ["u_1", "-", "-", "0", "-", "enabled"])
        var disabled = UserRecord()
        disabled.isDisabled = true
        disabled.storageLimit = .max
        #expect(
            disabled.row(of: try #require(UserID("u_1"))).split(separator: " ")
                == ["u_1", "-", "-", "0", "unlimited", "disabled"])
    }

    @Test func `a change is empty until it says something`() {
        var change = UserRecordChange()
        #expect(change.isEmpty)
        change.tier(nil)
        #expect(!change.isEmpty)
    }
}
