import CloakroomSQLite
import Foundation
import Testing

@testable import CloakroomKit

/// Files of other versions of an app: earlier ones are brought up to date, later ones refused and left as they are.
@Suite struct StoreVersionTests {
    private let folder: TemporaryFolder
    private static let date = Date(timeIntervalSince1970: 1_795_183_200)

    init() throws { folder = try TemporaryFolder() }

    /// One kind of file. The scripts are copies of what was released, in order: they never change.
    struct Kind: Sendable, CustomTestStringConvertible {
        let name: String
        let scripts: [String]
        /// How many of the scripts the first release knew.
        var firstVersion = 1
        let row: String
        /// Opens the file, and says what the row is read as.
        let read: @Sendable (URL, UnnamedRecords) async throws -> String

        var testDescription: String { name }
    }

    private static let owner =
        "CREATE TABLE owner (id INTEGER PRIMARY KEY CHECK (id = 1), user TEXT NOT NULL, endpoint TEXT NOT NULL)"

    /// As the released version wrote it.
    private static let target =
        #"{"objectKey":"assets/1","uploadURL":"https://s3.example/1","assetURL":"https://cdn.example/1","fields":{}}"#

    static let kinds = [
        Kind(
            name: "renewals",
            scripts: [
                """
                CREATE TABLE renewals (key TEXT NOT NULL PRIMARY KEY, last_renewed REAL, expires_at REAL, failure TEXT,
                    failure_reason TEXT, failure_first REAL, failure_last REAL, failure_count INTEGER) WITHOUT ROWID;
                CREATE TABLE server (id INTEGER PRIMARY KEY, pause_end REAL);
                """, owner,
            ],
            row: "INSERT INTO renewals (key, last_renewed) VALUES ('a.bin', 1795183200)",
            read: { file, unnamed in
                let store = try SQLiteRenewalStore(at: file, owner: .test, unnamedRecords: unnamed)
                return try await store.records().map { "\($0.key) \($0.lastRenewed == date)" }.joined()
            }),
        Kind(
            name: "recoveries",
            scripts: [
                """
                CREATE TABLE recoveries (
                    kind TEXT NOT NULL, conversation_id TEXT NOT NULL, inbox_id TEXT NOT NULL, url TEXT NOT NULL,
                    key TEXT NOT NULL, since REAL NOT NULL, step TEXT NOT NULL, refusal TEXT, refused_until REAL,
                    new_key TEXT, new_url TEXT, new_since REAL,
                    upload_url TEXT, upload_end REAL, upload_fields TEXT, byte_count INTEGER,
                    PRIMARY KEY (kind, conversation_id, inbox_id, url)) WITHOUT ROWID
                """, owner, "-- kind may be 'other', with the app's id in conversation_id",
            ],
            row: """
                INSERT INTO recoveries (kind, conversation_id, inbox_id, url, key, since, step)
                VALUES ('group', 'c', '', 'https://cdn.example/a.bin', 'a.bin', 1795183200, 'missing')
                """,
            read: { file, unnamed in
                let journal = try SQLiteRecoveryJournal(at: file, owner: .test, unnamedRecords: unnamed)
                return try await journal.records().map { "\($0.key) \($0.since == date)" }.joined()
            }),
        Kind(
            name: "uploads",
            scripts: [
                """
                CREATE TABLE uploads (
                    bucket TEXT NOT NULL, key TEXT NOT NULL, upload_id TEXT NOT NULL, part_size INTEGER NOT NULL,
                    byte_count INTEGER NOT NULL, modified INTEGER NOT NULL, PRIMARY KEY (bucket, key)) WITHOUT ROWID
                """, owner,
            ],
            row: "INSERT INTO uploads VALUES ('photos', 'a.bin', 'u', 5242880, 6000000, 1)",
            read: { file, unnamed in
                let journal = try SQLiteMultipartJournal(at: file, owner: .test, unnamedRecords: unnamed)
                return try await journal.uploads().map { "\($0.key) \($0.partSize == 5 << 20)" }.joined()
            }),
        Kind(
            name: "photos",
            scripts: [
                """
                CREATE TABLE photo (
                    device INTEGER NOT NULL, inode INTEGER NOT NULL, byteCount INTEGER NOT NULL,
                    modified INTEGER NOT NULL, changed INTEGER NOT NULL, md5 BLOB NOT NULL, isStored INTEGER NOT NULL,
                    seen REAL NOT NULL, PRIMARY KEY (device, inode)) WITHOUT ROWID
                """, owner,
            ],
            row: "INSERT INTO photo VALUES (1, 2, 3, 4, 5, x'00112233445566778899aabbccddeeff', 1, 1795183200)",
            read: { file, unnamed in
                let index = try PhotoIndex(at: file, owner: .test, unnamedRecords: unnamed, wallClock: { date })
                return await index.storedCount() == 1 ? "a.bin true" : ""
            }),
        Kind(
            name: "source",
            scripts: [
                """
                CREATE TABLE photo (id TEXT NOT NULL PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID;
                CREATE TABLE failure (id TEXT NOT NULL PRIMARY KEY, version TEXT NOT NULL, name TEXT NOT NULL) WITHOUT ROWID;
                CREATE TABLE source (id INTEGER PRIMARY KEY CHECK (id = 1), token BLOB NOT NULL);
                """, owner, "ALTER TABLE failure ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0",
                """
                CREATE TABLE export (id INTEGER PRIMARY KEY CHECK (id = 1), photo TEXT NOT NULL, version TEXT NOT NULL,
                    name TEXT NOT NULL)
                """,
            ],
            row: "INSERT INTO photo VALUES ('a.bin', '1')",
            read: { file, unnamed in
                let journal = try SourceJournal(
                    at: file, owner: .test, unnamedRecords: unnamed, runtime: FakeRuntime().runtime)
                let photo = SourcePhoto(id: "a.bin", version: "1", fileName: "a.bin")
                return "a.bin \(try await journal.isStored(photo))"
            }),
        Kind(
            name: "work",
            scripts: [
                """
                CREATE TABLE work (name TEXT NOT NULL PRIMARY KEY, begun REAL, done REAL, failures INTEGER NOT NULL)
                    WITHOUT ROWID
                """, owner, "ALTER TABLE work ADD COLUMN retry REAL",
            ],
            row: "INSERT INTO work (name, begun, done, failures) VALUES ('a.bin', 1795183200, 1795183200, 0)",
            read: { file, unnamed in
                let clock = FakeRuntime()
                let schedule = try WorkSchedule(
                    at: file, owner: .test, unnamedRecords: unnamed, runtime: clock.runtime)
                await schedule.add(ScheduledWork("a.bin", every: .seconds(60)) {})
                return "a.bin \(try await schedule.nextDate() == date.addingTimeInterval(60))"
            }),
        Kind(
            name: "outbox",
            scripts: [
                owner,
                """
                CREATE TABLE items (
                    sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
                    identity TEXT NOT NULL, priority INTEGER NOT NULL, added REAL NOT NULL, byte_count INTEGER NOT NULL,
                    modified INTEGER NOT NULL, md5 TEXT NOT NULL, content_type TEXT NOT NULL, format TEXT,
                    is_chat_image INTEGER NOT NULL, state TEXT NOT NULL, failures INTEGER NOT NULL, not_before REAL,
                    error TEXT, target TEXT, transfer TEXT, transfers INTEGER NOT NULL, may_be_stored INTEGER NOT NULL,
                    UNIQUE (kind, identity)
                );
                CREATE INDEX items_in_order ON items (state, priority DESC, sequence);
                CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID
                """, "ALTER TABLE items ADD COLUMN waits_since REAL",
            ], firstVersion: 2,
            row: """
                INSERT INTO items (id, kind, identity, priority, added, byte_count, modified, md5, content_type,
                    is_chat_image, state, failures, target, transfer, transfers, may_be_stored)
                VALUES ('1', 'asset', 'a.bin', 1, 1795183200, 3, 4, '00112233445566778899aabbccddeeff', 'image/jpeg',
                    0, 'waiting', 0, '\(target)', 'cloakroom-outbox/f/1/1', 1, 1);
                INSERT INTO settings VALUES ('complete', 1)
                """,
            read: { file, _ in
                var store = try OutboxStore(
                    at: file, owner: .test, reserve: DiskReserve(url: file.appendingPathExtension("reserve")),
                    recordedRows: { [] }, wallClock: { date })
                return try store.rows().map {
                    "\($0.identity) \($0.added == date.timeIntervalSince1970 && $0.target?.objectKey == "assets/1")"
                }.joined()
            }),
    ]

    /// A file as the version left it that knew so many scripts.
    private func file(_ kind: Kind, version: Int) throws -> URL {
        let file = folder.url.appendingPathComponent("\(kind.name).sqlite")
        let database = try SQLiteDatabase(at: file.path, migrations: Array(kind.scripts.prefix(version)))
        try database.run(script: kind.row)
        if kind.scripts.prefix(version).contains(Self.owner) {
            try database.run(
                "INSERT INTO owner VALUES (1, ?, ?)", [.text(StoreOwner.test.user), .text(StoreOwner.test.endpoint)])
        }
        database.close()
        return file
    }

    /// Each kind with each of its versions.
    static let versions = kinds.flatMap { kind in (kind.firstVersion...kind.scripts.count).map { (kind, $0) } }

    @Test(arguments: versions)
    func `records of each released version are read`(kind: Kind, version: Int) async throws {
        let file = try file(kind, version: version)
        #expect(try await kind.read(file, .adopt) == "a.bin true")
        #expect(try SQLiteDatabase(at: file.path).userVersion == kind.scripts.count)
        #expect(try await kind.read(file, .setAside) == "a.bin true")
    }

    /// What a release has created is never changed, but by another script after it.
    @Test(arguments: kinds)
    func `a new file has the tables that the released scripts make`(kind: Kind) async throws {
        let new = folder.url.appendingPathComponent("new.sqlite")
        _ = try await kind.read(new, .setAside)
        let released = try file(kind, version: kind.scripts.count)
        #expect(try Self.schema(of: new) == Self.schema(of: released))
    }

    /// Without white space.
    private static func schema(of file: URL) throws -> [String] {
        try SQLiteDatabase(at: file.path)
            .rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name") { $0.text(0) }
            .map { $0.filter { !$0.isWhitespace } }
    }

    @Test(arguments: kinds)
    func `a file of a later version is refused, and stays as it is`(kind: Kind) async throws {
        let version = kind.scripts.count
        let file = try file(kind, version: version)
        let later = try SQLiteDatabase(at: file.path)
        try later.run(
            script: "CREATE TABLE more (x INTEGER); INSERT INTO more VALUES (7); PRAGMA user_version = \(version + 1)")
        later.close()
        let bytes = try Data(contentsOf: file)
        for unnamed in [UnnamedRecords.setAside, .adopt] {
            let error = await #expect(throws: CloakroomError.self) { try await kind.read(file, unnamed) }
            #expect(error?.code == .laterVersion)
        }
        #expect(try Data(contentsOf: file) == bytes)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(names.allSatisfy { $0.hasPrefix(file.lastPathComponent) && !$0.contains(".corrupt") })
        let again = try SQLiteDatabase(at: file.path)
        #expect(try again.rows("SELECT x FROM more") { $0.integer(0) } == [7])
    }
}
