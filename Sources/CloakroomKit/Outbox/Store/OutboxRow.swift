import Foundation
import CloakroomSQLite

/// One item, as it is stored.
struct OutboxRow: Sendable, Equatable {
    enum Kind: String, Sendable {
        case photo, asset

        /// Whether backups of the device have it. A photo may be on this device alone until it is sent; an asset may be of a
        /// message that ends.
        var isInBackups: Bool { self == .photo }
    }

    enum State: String, Sendable {
        case waiting
        /// Only the app retries or removes it.
        case failed
        /// An asset that the app has not acknowledged.
        case uploaded
    }

    var id: String
    var kind: Kind
    /// Of a photo its MD5, of an asset the app's reference: unique among those of a kind.
    var identity: String
    var priority: Int
    /// Seconds since 1970.
    var added: Double
    var file: OutboxFile
    var contentType: String
    /// Of a photo, for its object's metadata.
    var format: String?
    var isChatImage = false
    var state = State.waiting
    /// Consecutive ones.
    var failures = 0
    /// In seconds since 1970.
    var notBefore: Double?
    /// When ``notBefore`` was set for a wait, by the same clock.
    var waitsSince: Double?
    var error: CloakroomError?
    /// Of an asset, from when an upload was requested for it.
    var target: UploadTarget?
    /// The last one that was begun, while what became of it is not known.
    var transfer: String?
    /// Whether S3 may have it: a transfer was begun, and how it ended is not known.
    var mayBeStored = false

    var itemID: OutboxItem.ID { OutboxItem.ID(rawValue: id) }

    /// - Parameter sent: of its bytes, while it is being sent.
    func item(sent: Int64?) -> OutboxItem {
        let state: OutboxItem.State =
            switch self.state {
            case .waiting:
                if let sent {
                    .sending(TransferProgress(bytesDone: min(sent, file.byteCount), bytesTotal: file.byteCount))
                } else {
                    .waiting(until: notBefore.map { Date(timeIntervalSince1970: $0) }, after: error)
                }
            case .failed: .failed(error ?? CloakroomError(.unknown, "the reason is not known"))
            case .uploaded:
                if let asset {
                    .uploaded(asset)
                } else {
                    .failed(CloakroomError(.storeFailed, "the record of the upload is damaged"))
                }
            }
        return OutboxItem(
            id: itemID, kind: kind == .photo ? .photo(md5: identity) : .asset(reference: identity),
            byteCount: file.byteCount, priority: OutboxPriority(rawValue: priority) ?? .normal,
            addedAt: Date(timeIntervalSince1970: added), state: state)
    }

    /// `nil` while it is not uploaded.
    var asset: OutboxAsset? {
        guard state == .uploaded, let target else { return nil }
        return OutboxAsset(
            id: itemID, reference: identity, objectKey: target.objectKey, assetURL: target.assetURL,
            releaseToken: target.releaseToken, uploadedBefore: target.expiration)
    }
}

/// The outbox's own copy of what is sent, named by the item.
struct OutboxFile: Sendable, Equatable, Codable {
    var byteCount: Int64
    /// When the copy was written, in nanoseconds since 1970: with it, the digest holds.
    var modified: Int64
    /// In hexadecimal.
    var md5: String
}

// MARK: In the database

extension OutboxRow {
    static let columns = """
        id, kind, identity, priority, added, byte_count, md5, content_type, format, is_chat_image, modified, state, \
        failures, not_before, error, target, transfer, may_be_stored, waits_since
        """

    /// In the order of the columns.
    var values: [SQLiteValue] {
        [
            .text(id), .text(kind.rawValue), .text(identity), SQLiteValue(priority), .real(added),
            .integer(file.byteCount), .text(file.md5), .text(contentType), SQLiteValue(format),
            .integer(isChatImage ? 1 : 0),
        ] + changing
    }

    static let changingColumns = [
        "modified", "state", "failures", "not_before", "error", "target", "transfer", "may_be_stored", "waits_since",
    ]

    /// Those that change after it was added.
    var changing: [SQLiteValue] {
        [
            .integer(file.modified), .text(state.rawValue), SQLiteValue(failures), SQLiteValue(notBefore),
            SQLiteValue(error.flatMap { Self.text(StoredError($0)) }),
            SQLiteValue(target.flatMap { Self.text(StoredTarget($0)) }), SQLiteValue(transfer),
            .integer(mayBeStored ? 1 : 0), SQLiteValue(waitsSince),
        ]
    }

    init(_ row: borrowing SQLiteRow) throws(SQLiteError) {
        guard let kind = Kind(rawValue: row.text(1)), let state = State(rawValue: row.text(11)) else { throw .corrupt }
        id = row.text(0)
        self.kind = kind
        identity = row.text(2)
        priority = Int(row.integer(3))
        added = row.real(4)
        file = OutboxFile(byteCount: row.integer(5), modified: row.integer(10), md5: row.text(6))
        contentType = row.text(7)
        format = row.textIfPresent(8)
        isChatImage = row.integer(9) != 0
        self.state = state
        failures = Int(row.integer(12))
        notBefore = row.realIfPresent(13)
        error = try row.textIfPresent(14).map { text throws(SQLiteError) in
            try Self.value(StoredError.self, of: text).error
        }
        target = try row.textIfPresent(15).map { text throws(SQLiteError) in
            try Self.value(StoredTarget.self, of: text).target
        }
        transfer = row.textIfPresent(16)
        mayBeStored = row.integer(17) != 0
        waitsSince = row.realIfPresent(18)
    }

    private static func text(_ value: some Encodable) -> String? {
        (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func value<Value: Decodable>(_ type: Value.Type, of text: String) throws(SQLiteError) -> Value {
        do { return try JSONDecoder().decode(type, from: Data(text.utf8)) } catch { throw .corrupt }
    }
}

/// A ``CloakroomError`` without what holds for a moment only.
private struct StoredError: Codable {
    let code, message: String
    let status: Int?
    let serverCode, requestID: String?

    init(_ error: CloakroomError) {
        code = error.code.rawValue
        message = error.message
        status = error.status
        serverCode = error.serverCode
        requestID = error.requestID
    }

    var error: CloakroomError {
        CloakroomError(
            CloakroomError.Code(rawValue: code), message, status: status, serverCode: serverCode, requestID: requestID)
    }
}

/// An ``UploadTarget``; the file that it is stored in is readable by its user alone.
struct StoredTarget: Codable {
    let objectKey: String
    let uploadURL, assetURL: URL
    let expiration: Date?
    let fields: [String: String]
    let releaseToken: String?

    init(_ target: UploadTarget) {
        objectKey = target.objectKey
        uploadURL = target.uploadURL
        assetURL = target.assetURL
        expiration = target.expiration
        fields = target.fields
        releaseToken = target.releaseToken
    }

    var target: UploadTarget {
        UploadTarget(
            objectKey: objectKey, uploadURL: uploadURL, assetURL: assetURL, expiration: expiration, fields: fields,
            releaseToken: releaseToken)
    }
}
