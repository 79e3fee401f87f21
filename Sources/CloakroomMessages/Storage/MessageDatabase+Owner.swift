import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite

extension MessageDatabase {
    /// Whose messages these are, from the first opening on; those of an earlier version are the first user's who opens them.
    static let owner = """
        -- The SHA-256 of the user's name.
        CREATE TABLE owner (id INTEGER PRIMARY KEY CHECK (id = 1), digest BLOB NOT NULL);
        """

    /// - Returns: whether they can be this user's; `nil` when that is not recorded yet.
    func isOwned(by user: ParticipantID) throws(CloakroomError) -> Bool? {
        let owner = try perform { database throws(SQLiteError) in
            try database.first("SELECT digest FROM owner") { $0.blob(0) }
        }
        return owner.map { $0 == Self.digest(of: user) }
    }

    /// Records whose they are, where that is not done.
    func setOwner(_ user: ParticipantID) throws(CloakroomError) {
        try perform { database throws(SQLiteError) in try Self.setOwner(Self.digest(of: user), in: database) }
    }

    static func setOwner(_ digest: [UInt8], in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run("INSERT INTO owner (id, digest) VALUES (1, ?) ON CONFLICT DO NOTHING", [.blob(digest)])
    }

    private static func digest(of user: ParticipantID) -> [UInt8] { SHA256.hash(Array(user.rawValue.utf8)) }
}
