import Foundation
import CloakroomSQLite

/// The table of a journal, and a record as a row of it.
extension RecoveryRecord {
    static let migrations = [
        """
        CREATE TABLE recoveries (
            kind TEXT NOT NULL, conversation_id TEXT NOT NULL, inbox_id TEXT NOT NULL, url TEXT NOT NULL,
            key TEXT NOT NULL, since REAL NOT NULL, step TEXT NOT NULL, refusal TEXT, refused_until REAL,
            new_key TEXT, new_url TEXT, new_since REAL,
            upload_url TEXT, upload_end REAL, upload_fields TEXT, byte_count INTEGER,
            PRIMARY KEY (kind, conversation_id, inbox_id, url)
        ) WITHOUT ROWID
        """,
        RecordsFile.ownerTable,
        // An earlier version would take a record of this kind for damage.
        "-- kind may be 'other', with the app's id in conversation_id",
    ]
    static let columns = """
        kind, conversation_id, inbox_id, url, key, since, step, refusal, refused_until, \
        new_key, new_url, new_since, upload_url, upload_end, upload_fields, byte_count
        """

    /// In the order of the columns.
    var values: [SQLiteValue] {
        let head =
            asset.values + [
                .text(key), .real(since.timeIntervalSince1970), .text(step.name), SQLiteValue(refusal?.code.rawValue),
                SQLiteValue(refusal?.until.timeIntervalSince1970),
            ]
        switch step {
        case .missing, .expired, .clearing:
            return head + [nil, nil, nil, nil, nil, nil, nil]
        case .uploading(let destination):
            let target = destination.target
            return head + [
                .text(target.objectKey), .text(target.assetURL.absoluteString),
                .real(destination.requestedAt.timeIntervalSince1970), .text(target.uploadURL.absoluteString),
                SQLiteValue(target.expiration?.timeIntervalSince1970), .text(Self.text(of: target.fields)),
                .integer(destination.byteCount),
            ]
        case .uploaded(let object):
            return head + [
                .text(object.key), .text(object.url.absoluteString), .real(object.storedAt.timeIntervalSince1970),
                nil, nil, nil, nil,
            ]
        }
    }

    init(_ row: borrowing SQLiteRow) throws(SQLiteError) {
        asset = try RenewableAsset(row)
        key = row.text(4)
        since = Date(timeIntervalSince1970: row.real(5))
        refusal =
            if let code = row.textIfPresent(7) {
                Refusal(code: CloakroomError.Code(rawValue: code), until: Date(timeIntervalSince1970: row.real(8)))
            } else { nil }
        step = try Step(row)
    }

    fileprivate static func text(of fields: [String: String]) -> String {
        // A dictionary of strings is always encoded.
        guard let data = try? JSONEncoder().encode(fields) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension RecoveryRecord.Step {
    fileprivate var name: String {
        switch self {
        case .missing: "missing"
        case .expired: "expired"
        case .uploading: "uploading"
        case .uploaded: "uploaded"
        case .clearing: "clearing"
        }
    }

    fileprivate init(_ row: borrowing SQLiteRow) throws(SQLiteError) {
        switch row.text(6) {
        case "missing": self = .missing
        case "expired": self = .expired
        case "clearing": self = .clearing
        case "uploading":
            let target = UploadTarget(
                objectKey: row.text(9), uploadURL: try row.url(12), assetURL: try row.url(10),
                expiration: row.realIfPresent(13).map { Date(timeIntervalSince1970: $0) }, fields: try row.fields(14))
            let date = Date(timeIntervalSince1970: row.real(11))
            self = .uploading(UploadDestination(target: target, byteCount: row.integer(15), requestedAt: date))
        case "uploaded":
            let date = Date(timeIntervalSince1970: row.real(11))
            self = .uploaded(RecoveredObject(key: row.text(9), url: try row.url(10), storedAt: date))
        // A later version that has another step appends a migration with it, and this one does not open the file.
        default: throw .corrupt
        }
    }
}

extension RenewableAsset {
    static let isSame = "kind = ? AND conversation_id = ? AND inbox_id = ? AND url = ?"

    /// What identifies it.
    var values: [SQLiteValue] {
        switch self {
        case .profileAvatar(let url, let conversationID, let inboxID):
            ["avatar", .text(conversationID), .text(inboxID), .text(url.absoluteString)]
        case .groupImage(let url, let conversationID):
            ["group", .text(conversationID), "", .text(url.absoluteString)]
        case .other(let id, let url):
            ["other", .text(id), "", .text(url.absoluteString)]
        }
    }

    fileprivate init(_ row: borrowing SQLiteRow) throws(SQLiteError) {
        let url = try row.url(3)
        switch row.text(0) {
        case "avatar": self = .profileAvatar(url: url, conversationID: row.text(1), inboxID: row.text(2))
        case "group": self = .groupImage(url: url, conversationID: row.text(1))
        case "other": self = .other(id: row.text(1), url: url)
        default: throw .corrupt
        }
    }
}

extension SQLiteRow {
    fileprivate func url(_ column: Int32) throws(SQLiteError) -> URL {
        guard let url = URL(string: text(column)) else { throw .corrupt }
        return url
    }

    fileprivate func fields(_ column: Int32) throws(SQLiteError) -> [String: String] {
        do {
            return try JSONDecoder().decode([String: String].self, from: Data(text(column).utf8))
        } catch {
            throw .corrupt
        }
    }
}
