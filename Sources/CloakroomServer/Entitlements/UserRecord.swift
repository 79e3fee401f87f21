package import CloakroomRedis

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What is kept in Redis about one user: what the operator decided, and what the last scan counted.
///
/// A hash whose fields are texts; times are whole seconds since 1970, amounts are bytes.
package struct UserRecord: Sendable, Equatable {
    package enum Field: String, Sendable, CaseIterable {
        case tier
        case subscriptionEnd
        case storageUsed
        case storageLimit
        case disabled
        case revokedBefore
        case acceptUndatedTokens
        /// What others share with the user: lines of ``SharedFolder/line``.
        case shares
        /// With whom the user shares: see ``UserRecords/Recipient``. Not read for a request.
        case sharedWith
        /// Another text after every change of what is shared with the user.
        case sharesRevision
        /// When an operator last decided something; what a scan writes leaves it alone. Without it there is no record.
        case updated
        case disabledReason
    }

    /// `nil` leaves the tier to the token.
    package var tier: String?
    package var subscriptionEnd: Date?
    package var storageUsed = 0
    /// `nil` leaves it to the tier; `Int.max` is no limit.
    package var storageLimit: Int?
    package var isDisabled = false
    /// For people; not read for a request.
    package var disabledReason: String?
    /// Credentials issued before are not handed out again, and tokens issued before are refused.
    package var revokedBefore: Date?
    /// Whether tokens that do not say when they were issued are accepted in spite of a revocation.
    package var acceptsUndatedTokens = false
    package var updated: Date?
    package var shares = Shares()

    package init() {}

    /// What others share with a user, as it stands in the record. Few requests need it: it is read when one does.
    package struct Shares: Sendable, Equatable {
        package let text: String

        /// - Parameter text: lines of ``SharedFolder/line``.
        package init(_ text: String = "") { self.text = text }

        package init(_ folders: [SharedFolder]) { text = folders.map(\.line).joined(separator: "\n") }

        package var isEmpty: Bool { text.isEmpty }

        package var folders: [SharedFolder] { read().folders }

        /// - Returns: how many lines hold what no command writes: they open nothing, and take nothing from the user's own.
        package func read() -> (folders: [SharedFolder], unreadable: Int) {
            let lines = text.split(separator: "\n")
            let folders = lines.compactMap { SharedFolder(line: $0) }
            return (folders, lines.count - folders.count)
        }
    }

    /// The text of a storage limit that is none.
    package static let unlimited = "unlimited"

    /// What is read for a request, in the order in which it is requested.
    package static let requestFields: [Field] = [
        .updated, .storageUsed, .shares, .tier, .subscriptionEnd, .storageLimit, .disabled, .revokedBefore,
        .acceptUndatedTokens,
    ]

    /// Reads the response of HMGET for ``requestFields``.
    ///
    /// - Returns: a record only where an operator decided something about the user; what a scan counted and what others
    ///   share is none, but counts.
    /// - Throws: ``UserRecordError/malformed(_:)`` for a field that holds what no command of ours writes, or for a
    ///   refusal.
    package static func parse(_ cursor: inout RedisReplyCursor) throws(UserRecordError) -> StoredUser {
        guard cursor.next() == .array(requestFields.count) else { throw .malformed(nil) }
        let updated = try seconds(&cursor, .updated)
        let storageUsed = try number(&cursor, .storageUsed) ?? 0
        let shares = try shares(&cursor)
        guard let updated else { return .unrecorded(storageUsed: storageUsed, shares: shares) }
        var record = UserRecord()
        record.updated = updated
        record.shares = shares
        record.storageUsed = storageUsed
        record.tier = try tier(&cursor)
        record.subscriptionEnd = try seconds(&cursor, .subscriptionEnd)
        record.storageLimit = try limit(&cursor)
        record.isDisabled = try flag(&cursor, .disabled)
        record.revokedBefore = try seconds(&cursor, .revokedBefore)
        record.acceptsUndatedTokens = try flag(&cursor, .acceptUndatedTokens)
        return .record(record)
    }

    /// Whether a token is refused; the second of the revocation itself counts as before it.
    ///
    /// - Parameter signIn: ``Subject/signIn``.
    package func revokes(_ signIn: Date?) -> Bool {
        guard let revokedBefore else { return false }
        return signIn.map { $0 <= revokedBefore } ?? !acceptsUndatedTokens
    }

    private static func bytes(
        _ cursor: inout RedisReplyCursor, _ field: Field
    ) throws(UserRecordError) -> ArraySlice<UInt8>? {
        switch cursor.next() {
        case .null: return nil
        case .text(let text): return cursor.bytes(of: text)
        case .integer, .array, .status, .error, .lost: throw .malformed(field)
        }
    }

    private static func number(_ cursor: inout RedisReplyCursor, _ field: Field) throws(UserRecordError) -> Int? {
        try bytes(&cursor, field).map { (bytes) throws(UserRecordError) in try number(bytes, field) }
    }

    /// 1 to 18 digits, so that nothing overflows.
    private static func number(_ bytes: ArraySlice<UInt8>, _ field: Field) throws(UserRecordError) -> Int {
        guard (1...18).contains(bytes.count) else { throw .malformed(field) }
        var number = 0
        for byte in bytes {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { throw .malformed(field) }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return number
    }

    private static func seconds(_ cursor: inout RedisReplyCursor, _ field: Field) throws(UserRecordError) -> Date? {
        guard let number = try number(&cursor, field) else { return nil }
        // To the year 9999: what comes after has no ISO 8601 text of ours.
        guard number <= 253_402_300_799 else { throw .malformed(field) }
        return Date(timeIntervalSince1970: Double(number))
    }

    private static func limit(_ cursor: inout RedisReplyCursor) throws(UserRecordError) -> Int? {
        guard let bytes = try bytes(&cursor, .storageLimit) else { return nil }
        return bytes.elementsEqual(unlimited.utf8) ? .max : try number(bytes, .storageLimit)
    }

    private static func flag(_ cursor: inout RedisReplyCursor, _ field: Field) throws(UserRecordError) -> Bool {
        guard let number = try number(&cursor, field) else { return false }
        guard number <= 1 else { throw .malformed(field) }
        return number == 1
    }

    private static func shares(_ cursor: inout RedisReplyCursor) throws(UserRecordError) -> Shares {
        guard let bytes = try bytes(&cursor, .shares) else { return Shares() }
        return Shares(String(decoding: bytes, as: UTF8.self))
    }

    private static func tier(_ cursor: inout RedisReplyCursor) throws(UserRecordError) -> String? {
        guard let bytes = try bytes(&cursor, .tier) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        guard Subject.isTier(text) else { throw .malformed(.tier) }
        return text
    }
}

/// What Redis holds of a user, known or not.
package enum StoredUser: Sendable, Equatable {
    case record(UserRecord)
    /// Without a record a user has what the last scan counted, 0 when none did, and what others share.
    case unrecorded(storageUsed: Int, shares: UserRecord.Shares = .init())

    package var record: UserRecord? {
        switch self {
        case .record(let record): record
        case .unrecorded: nil
        }
    }
}

/// Why nothing can be said of a user.
package enum UserRecordError: Error, Sendable, Equatable {
    case redis(RedisError)
    /// The field, or `nil` when the whole is no hash.
    case malformed(UserRecord.Field?)
}
