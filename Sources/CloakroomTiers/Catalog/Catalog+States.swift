import CloakroomKit
import CloakroomSQLite
import Foundation

/// The changes of a photo's state: each a statement of a transaction of many.
extension Catalog {
    static func set(_ state: PhotoState, of id: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run("UPDATE photo SET state = ? WHERE id = ?", [.integer(state.rawValue), .integer(id)])
    }

    /// Records a proof, and what the photo is from then on.
    ///
    /// - Parameter date: of the proof, by this device where the store does not say.
    static func keep(
        _ proof: ColdProof, on date: Date, _ state: PhotoState, of id: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        try database.run(
            """
            UPDATE photo SET state = ?, tier = ?, remote_key = ?, entity_tag = ?, verified_at = ?, missing_since = NULL,
                retry_at = NULL, failure = NULL WHERE id = ?
            """,
            [
                .integer(state.rawValue), .text(proof.identity.description), .text(proof.key), .text(proof.tag),
                .integer((proof.date ?? date).milliseconds), .integer(id),
            ])
    }

    /// A photo that is on this device, and not in the tier any more: all of it is uploaded again.
    static func forgetProof(of id: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run(
            """
            UPDATE photo SET state = ?, tier = NULL, remote_key = NULL, entity_tag = NULL, verified_at = NULL,
                thumbnail_uploaded = 0 WHERE id = ?
            """, [.integer(PhotoState.hot.rawValue), .integer(id)])
    }

    /// - Parameter retry: when the photo is looked at again.
    static func keep(
        _ failure: CloakroomError, until retry: Date, of id: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        try database.run(
            "UPDATE photo SET failure = ?, retry_at = ? WHERE id = ?",
            [.text(failure.description), .integer(retry.milliseconds), .integer(id)])
    }

    static func keepViews(_ views: [Int64: Date], in database: SQLiteDatabase) throws(SQLiteError) {
        for (id, date) in views.sorted(by: { $0.key < $1.key }) {
            try database.run(
                "UPDATE photo SET viewed_at = ? WHERE id = ? AND (viewed_at IS NULL OR viewed_at < ?)",
                [.integer(date.milliseconds), .integer(id), .integer(date.milliseconds)])
        }
    }
}
