import CloakroomRedis
import Foundation
import Testing

@testable import CloakroomServer

struct UserRecordTests {
    private static let revocation = Date(timeIntervalSince1970: 1_800_000_000)

    @Test func `a revocation refuses what was signed in until its second, and what does not say when`() {
        var record = UserRecord()
        #expect(!record.revokes(nil) && !record.revokes(.distantPast))
        record.revokedBefore = Self.revocation
        #expect(record.revokes(Self.revocation - 1) && record.revokes(Self.revocation))
        #expect(!record.revokes(Self.revocation + 1))
        #expect(record.revokes(nil))
        record.acceptsUndatedTokens = true
        #expect(!record.revokes(nil) && record.revokes(Self.revocation))
    }

    @Test func `a revocation is written as the second that has ended, and undated tokens are no longer accepted`() {
        var change = UserRecordChange()
        change.acceptUndatedTokens()
        change.revokedBefore(Self.revocation + 0.25)
        #expect(change.values == [.revokedBefore: "1800000001", .acceptUndatedTokens: nil])
    }

    @Test func `a user is disabled with a reason, and enabled without one`() {
        var change = UserRecordChange()
        change.disabled("fraud")
        #expect(change.values == [.disabled: "1", .disabledReason: "fraud"])
        change.disabled(nil)
        #expect(change.values == [.disabled: nil, .disabledReason: nil])
    }

    @Test func `a record is read as Redis has it, and unset fields are as in a new one`() throws {
        var record = UserRecord()
        record.updated = Self.revocation
        #expect(try parse([.updated: "1800000000"]) == .record(record))
        record.storageUsed = 7
        record.shares = UserRecord.Shares("a line")
        record.tier = "pro"
        record.subscriptionEnd = Self.revocation + 1
        record.storageLimit = .max
        record.isDisabled = true
        record.revokedBefore = Self.revocation + 2
        record.acceptsUndatedTokens = true
        var fields: [UserRecord.Field: String] = [
            .updated: "1800000000", .storageUsed: "7", .shares: "a line", .tier: "pro", .subscriptionEnd: "1800000001",
            .storageLimit: "unlimited", .disabled: "1", .revokedBefore: "1800000002", .acceptUndatedTokens: "1",
        ]
        #expect(try parse(fields) == .record(record))
        fields[.updated] = nil
        #expect(try parse(fields) == .unrecorded(storageUsed: 7, shares: record.shares))
    }

    @Test(
        arguments: [
            (.updated, "x"), (.updated, "253402300800"), (.storageUsed, ""), (.storageUsed, "1234567890123456789"),
            (.storageUsed, "-1"), (.tier, "a b"), (.subscriptionEnd, ""), (.storageLimit, "no"), (.disabled, "2"),
            (.revokedBefore, "1.5"), (.acceptUndatedTokens, "yes"),
        ] as [(UserRecord.Field, String)])
    func `a field with what no command writes is told`(field: UserRecord.Field, text: String) {
        let fields = [UserRecord.Field.updated: "1800000000"].merging([field: text]) { $1 }
        #expect(throws: UserRecordError.malformed(field)) { try parse(fields) }
    }

    private func parse(_ fields: [UserRecord.Field: String]) throws -> StoredUser {
        var cursor = RedisReplyCursor(reading: .redisArray(UserRecord.requestFields.map { fields[$0] }))
        return try UserRecord.parse(&cursor)
    }
}
