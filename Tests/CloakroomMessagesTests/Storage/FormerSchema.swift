@testable import CloakroomMessages
import CloakroomSQLite
import Foundation

/// The database as the first version of its schema has the same messages.
enum FormerSchema {
    /// - Parameter file: of a storage that is closed.
    static func replace(_ file: URL) throws {
        let made = file.appendingPathExtension("former")
        let database = try SQLiteDatabase(at: made.path, migrations: [MessageDatabase.migrations[0]])
        try database.run("ATTACH ? AS present", [.text(file.path)])
        try database.run(script: "PRAGMA foreign_keys = 0")
        let tables = try database.rows(
            "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ) { $0.text(0) }
        for table in tables where !["message", "tombstone"].contains(table) {
            // Later versions have appended columns.
            let columns = try database.rows("SELECT name FROM main.pragma_table_info('\(table)')") { $0.text(0) }
                .joined(separator: ", ")
            try database.run("INSERT INTO main.\(table) (\(columns)) SELECT \(columns) FROM present.\(table)")
        }
        try database.run(
            script: """
                INSERT INTO main.message (seq, id, name, conversation, author, clock, base, wall_lead, stamp, own_policy,
                    shared, deadline, quotes, quotes_author, slot, body)
                SELECT seq, id, name, conversation, author, clock, base, wall_lead, stamp, own_policy, shared, deadline,
                    quotes, quotes_author, slot, body FROM present.message JOIN present.known USING (seq);
                INSERT INTO main.tombstone (id, until) SELECT id, until FROM present.known
                WHERE seq IS NULL OR seq NOT IN (SELECT seq FROM present.message);
                DELETE FROM main.sqlite_sequence;
                INSERT INTO main.sqlite_sequence (name, seq) SELECT name, seq FROM present.sqlite_sequence;
                """)
        database.close()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: file.path + suffix)
            try? FileManager.default.moveItem(atPath: made.path + suffix, toPath: file.path + suffix)
        }
    }
}
