#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Fields of a user's record to be set or removed, all at once or not at all.
package struct UserRecordChange: Sendable, Equatable {
    /// `nil` removes the field.
    private(set) var values: [UserRecord.Field: String?] = [:]

    package init() {}

    package var isEmpty: Bool { values.isEmpty }

    package mutating func tier(_ tier: String?) { values.updateValue(tier, forKey: .tier) }

    package mutating func subscriptionEnd(_ end: Date?) {
        values.updateValue(end.map(Self.seconds), forKey: .subscriptionEnd)
    }

    /// - Parameter bytes: at least 0.
    package mutating func storageUsed(_ bytes: Int?) {
        values.updateValue(bytes.map(String.init), forKey: .storageUsed)
    }

    /// - Parameter bytes: at least 0; `Int.max` for no limit, `nil` for the tier's.
    package mutating func storageLimit(_ bytes: Int?) {
        values.updateValue(bytes.map { $0 == .max ? UserRecord.unlimited : String($0) }, forKey: .storageLimit)
    }

    /// - Parameter reason: for people; `nil` enables.
    package mutating func disabled(_ reason: String?) {
        values.updateValue(reason == nil ? nil : "1", forKey: .disabled)
        values.updateValue(reason, forKey: .disabledReason)
    }

    /// Undated tokens may be from before it: they are no longer accepted.
    package mutating func revokedBefore(_ time: Date) {
        values.updateValue(Self.seconds(time), forKey: .revokedBefore)
        values.updateValue(nil, forKey: .acceptUndatedTokens)
    }

    package mutating func acceptUndatedTokens() { values.updateValue("1", forKey: .acceptUndatedTokens) }

    mutating func updated(_ time: Date) { values.updateValue(Self.seconds(time), forKey: .updated) }

    /// Rounded up: what was issued within the second counts as before.
    private static func seconds(_ time: Date) -> String {
        String(Int(max(0, time.timeIntervalSince1970.rounded(.up))))
    }
}
