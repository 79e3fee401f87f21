import CloakroomKit
import CloakroomSQLite
import Foundation

/// The changes of a photo's state: each a statement of a transaction of many.
///
/// Besides these, a photo gets its first state with its record, and ``arrive(_:_:format:in:)`` brings one back.
extension Catalog {
    /// From then on the cold tier may have it.
    static func markUploading(_ id: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        try set(.uploading, of: id, in: database)
    }

    /// Ends what ``PhotoState/evicting`` began.
    static func endEviction(of id: Int64, isFileThere: Bool, in database: SQLiteDatabase) throws(SQLiteError) {
        try set(isFileThere ? .both : .cold, of: id, in: database)
    }

    /// One that has left the device, and is surely absent from the cold tier; others stay as they are.
    static func markMissing(_ id: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run(
            "UPDATE photo SET state = ? WHERE id = ? AND state = ?",
            [.integer(PhotoState.missing.rawValue), .integer(id), .integer(PhotoState.cold.rawValue)])
    }

    /// One that is on the device again, by being added.
    static func markLocal(
        _ known: PhotoRow, _ content: PhotoContent, format: String, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        let state: PhotoState
        switch known.state {
        case .hot, .uploading, .both: state = known.state
        case .evicting, .cold: state = known.sha256 == nil ? .hot : .both
        case .missing: state = .hot
        }
        try database.run(
            """
            UPDATE photo SET sha256 = ?, format = ?, state = ?,
                segment = CASE WHEN sha256 IS NULL THEN NULL ELSE segment END WHERE id = ?
            """,
            [.blob(content.sha256), .text(format), .integer(state.rawValue), .integer(known.id)])
    }

    /// Records a proof, and what the photo is from then on.
    ///
    /// - Parameter date: of the proof, by this device where the store does not say.
    static func record(
        _ proof: ColdProof, on date: Date, _ state: PhotoState, of id: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        try database.run(
            """
            UPDATE photo SET state = ?, tier = ?, remote_key = ?, entity_tag = ?, verified_at = ?, retry_at = NULL
            WHERE id = ?
            """,
            [
                .integer(state.rawValue), .text(proof.identity.description), .text(proof.key), .text(proof.tag),
                .integer((proof.date ?? date).milliseconds), .integer(id),
            ])
    }

    /// A photo that is on this device, and not in the tier any more: all of it is uploaded again.
    static func forgetProof(of id: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run("\(forgetting) WHERE id = ?", [.integer(id)])
    }

    /// The same for all photos on this device that are proven in another tier.
    ///
    /// - Returns: how many.
    static func forgetProofs(
        except identity: TierIdentity, in database: SQLiteDatabase
    ) throws(SQLiteError) -> Int {
        try database.run(
            "\(forgetting) WHERE \(PhotoState.localSQL) AND tier IS NOT NULL AND tier <> ?",
            [.text(identity.description)])
    }

    private static let forgetting = """
        UPDATE photo SET state = \(PhotoState.hot.rawValue), tier = NULL, remote_key = NULL, entity_tag = NULL, \
        verified_at = NULL, thumbnail_uploaded = 0
        """

    private static func set(_ state: PhotoState, of id: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run("UPDATE photo SET state = ? WHERE id = ?", [.integer(state.rawValue), .integer(id)])
    }
}

/// What changes besides the state.
extension Catalog {
    /// - Parameter retry: when a photo that failed is looked at again.
    static func postpone(_ id: Int64, until retry: Date, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run("UPDATE photo SET retry_at = ? WHERE id = ?", [.integer(retry.milliseconds), .integer(id)])
    }

    static func keepViews(_ views: [Int64: Date], in database: SQLiteDatabase) throws(SQLiteError) {
        for (id, date) in views.sorted(by: { $0.key < $1.key }) {
            try database.run(
                "UPDATE photo SET viewed_at = ? WHERE id = ? AND (viewed_at IS NULL OR viewed_at < ?)",
                [.integer(date.milliseconds), .integer(id), .integer(date.milliseconds)])
        }
    }
}
