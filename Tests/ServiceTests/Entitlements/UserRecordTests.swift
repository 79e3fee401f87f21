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
}
