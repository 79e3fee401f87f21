import CloakroomKit
import CloakroomSQLite

/// Images of messages that end, and whether a message of this user had each.
typealias ImageKeys = [String: Bool]

/// Which messages an image lives with.
///
/// Keys of objects are no secret, so a peer can name any as an attachment. What the bucket deletes depends on this user's
/// messages alone, and what is renewed on these and on images that were uploaded for chats.
extension SQLiteMessageStorage {
    /// Images that wait for another message of this user's, in the place of the time of their next attempt.
    static let held = Int64.max

    /// Whether an image was uploaded for a chat, by its key.
    func isChatImage(_ key: String) -> Bool {
        chatKeyPrefix.map { key.utf8.starts(with: $0.utf8) } ?? false
    }

    /// Whether a message that is here has an image, one of the journal left out.
    ///
    /// - Parameter ofReader: of this user's messages.
    func isLive(_ key: String, ofReader: Bool, in database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        let own = ofReader ? "AND author = ?2" : ""
        let author = SQLiteValue.text(reader?.rawValue ?? "")
        let stored = try database.first(
            """
            SELECT 1 FROM attachment JOIN message ON seq = attachment.message WHERE asset_key = ?1 \(own)
            AND NOT EXISTS (SELECT 1 FROM condemned WHERE condemned.seq = message.seq)
            """, ofReader ? [.text(key), author] : [.text(key)]
        ) { _ in true }
        if stored == true { return true }
        return try isLiveInMemory(key, ofReader: ofReader, in: database)
    }

    func isLiveInMemory(_ key: String, ofReader: Bool, in database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try database.first(
            "SELECT 1 FROM memory_image WHERE asset = ?1 \(ofReader ? "AND is_own = 1" : "")",
            [.blob(assetID(key))]
        ) { _ in true } ?? false
    }

    /// Images of messages that end.
    ///
    /// - Returns: those of which the app's cache is to have nothing, and those that count as ended.
    func divide(
        _ images: ImageKeys, in database: SQLiteDatabase
    ) throws(SQLiteError) -> (cached: [String], ended: [String]) {
        var (cached, ended): ([String], [String]) = ([], [])
        for (key, isOwn) in images {
            let isLive = try isLive(key, ofReader: false, in: database)
            let isChatImage = isChatImage(key)
            if !isLive, isOwn || isChatImage || chatKeyPrefix == nil { cached.append(key) }
            let isOwnLive = isOwn ? try self.isLive(key, ofReader: true, in: database) : true
            if !isOwnLive || isChatImage && !isLive { ended.append(key) }
        }
        return (cached.sorted(), ended.sorted())
    }

    func end(_ key: String, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run("INSERT INTO ended_asset (id) VALUES (?) ON CONFLICT DO NOTHING", [.blob(assetID(key))])
    }

    /// A message has an image from now on: another one that had it before does not end it.
    ///
    /// - Parameters:
    ///   - isOwn: whether it is this user's message.
    ///   - id: of one in memory, as ``rowID(_:)`` gives it; `nil` for one that is stored.
    func attach(
        _ key: String, isOwn: Bool, inMemory id: [UInt8]? = nil, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        if let id {
            try database.run(
                "INSERT INTO memory_image (message, asset, is_own) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                [.blob(id), .blob(assetID(key)), .integer(isOwn ? 1 : 0)])
        }
        guard isOwn || isChatImage(key) else { return }
        try database.run("DELETE FROM ended_asset WHERE id = ?", [.blob(assetID(key))])
        // An image that is here again is not deleted before this message ends, too.
        guard isOwn else { return }
        try database.run("UPDATE release SET retry_at = ? WHERE asset_key = ?", [.integer(Self.held), .text(key)])
    }

    /// Records that the bucket is to delete an image of this user's, or leaves that to another message that has it.
    ///
    /// - Parameters:
    ///   - token: `nil`: one that is recorded already counts.
    ///   - time: when.
    /// - Returns: whether it is recorded now, and was not before.
    func release(_ key: String, _ token: String?, at time: ReleaseTime, in database: SQLiteDatabase) throws(SQLiteError)
        -> Bool
    {
        let recorded = try database.first("SELECT token, not_before FROM release WHERE asset_key = ?", [.text(key)]) {
            (token: $0.text(0), time: ReleaseTime(notBefore: $0.integer(1)))
        }
        guard let token = token ?? recorded?.token else { return false }
        // When both end, it is released at the later time.
        let time = max(time, recorded?.time ?? .atOnce)
        if try isLive(key, ofReader: true, in: database) {
            try record(key, token, retryAt: Self.held, time, in: database)
            return false
        }
        guard time < .never else {
            try database.run("DELETE FROM release WHERE asset_key = ?", [.text(key)])
            return false
        }
        return try record(key, token, retryAt: 0, time, in: database)
    }

    @discardableResult
    private func record(
        _ key: String, _ token: String, retryAt: Int64, _ time: ReleaseTime, in database: SQLiteDatabase
    ) throws(SQLiteError) -> Bool {
        let count = try database.run(
            """
            INSERT INTO release (asset_key, token, retry_at) VALUES (?1, ?2, ?3) ON CONFLICT (asset_key)
            DO UPDATE SET retry_at = ?3 WHERE ?3 = \(Self.held) OR retry_at = \(Self.held)
            """, [.text(key), .text(token), .integer(retryAt)])
        try database.run(
            "UPDATE release SET not_before = ? WHERE asset_key = ?", [.integer(time.notBefore), .text(key)])
        return count > 0
    }
}

/// When the bucket is to delete an image whose message has ended here: not before it has ended for the other participants,
/// who keep what this user deletes from this device.
struct ReleaseTime: Sendable, Comparable {
    /// By the device's clock, in milliseconds; it cannot be set, so that it may be late, and is never early.
    let notBefore: Milliseconds

    static let atOnce = Self(notBefore: 0)
    /// The message has no end for others: the image has that of the bucket's rule.
    static let never = Self(notBefore: .max)

    init(notBefore: Milliseconds) { self.notBefore = notBefore }

    /// - Parameter end: ``MessageTerm/shared``, by the clock of the message.
    init(end: Milliseconds?, by own: MessageBase.Clock, stamp: MessageRetentionPolicy, _ clock: RetentionClock) {
        // What is not stored ends when its conversation closes here.
        if stamp == .noStorage {
            self = .atOnce
        } else if let end {
            self.init(notBefore: max(0, clock.convert(end, from: own, to: .device(run: clock.run))))
        } else {
            self = .never
        }
    }

    static func < (left: Self, right: Self) -> Bool { left.notBefore < right.notBefore }
}
