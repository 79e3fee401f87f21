public import Foundation
import CloakroomSQLite

/// Which MD5 the files of this device had when they were last read, so that unchanged ones are not read again.
///
/// It is a cache: without it, or after its loss, a backup reads every file anew, and nothing else changes. That S3 has a
/// photo is concluded from it only where the app says so: ``PhotoBackup/Options/recheckInterval``. Several of one user may share one file, one after the other.
public actor PhotoIndex {
    private var file: RecordsFile
    private let wallClock: @Sendable () -> Date
    /// Not yet written: one transaction for many files, since each costs a flush of the disk.
    private var pending: [FileID: Row] = [:]

    private static let batch = 256

    /// - Parameters:
    ///   - file: of the database; made when it is not there, made anew when it is damaged. Its folder exists.
    ///   - owner: who is signed in, and where; another owner's file is refused.
    ///   - unnamedRecords: what becomes of those that an earlier version of the kit left in the file.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeOwnerMismatch``, ``CloakroomError/Code/laterVersion``,
    ///   ``CloakroomError/Code/diskFull`` or ``CloakroomError/Code/storeFailed``.
    public init(at file: URL, owner: StoreOwner, unnamedRecords: UnnamedRecords = .setAside) throws {
        try self.init(at: file, owner: owner, unnamedRecords: unnamedRecords, wallClock: { Date() })
    }

    package init(
        at file: URL, owner: StoreOwner, unnamedRecords: UnnamedRecords = .setAside,
        wallClock: @escaping @Sendable () -> Date
    ) throws {
        self.wallClock = wallClock
        self.file = try RecordsFile(
            Self.kind, at: file, owner: owner, unnamedRecords: unnamedRecords, wallClock: wallClock)
        // Files that are gone, or that are not backed up any more. If the deletion fails, they stay.
        let oldest = wallClock().timeIntervalSince1970 - Self.longestUnseen
        _ = try? self.file.perform { database throws(SQLiteError) in
            try database.run("DELETE FROM photo WHERE seen < ?", [.real(oldest)])
        }
    }

    /// When a backup last saw the photo in S3; `nil` when it never did, or when the file has changed since.
    ///
    /// For what an app shows at its start, before it has listed S3: a hint, no proof.
    public func lastBackup(of file: URL) -> Date? {
        guard let stamp = try? FileStamp(path: file.path), let row = row(of: stamp), row.isStored else { return nil }
        return Date(timeIntervalSince1970: row.seen)
    }

    /// How many photos a backup has seen in S3: at least so many objects does a listing have.
    ///
    /// - Returns: 0 also when that cannot be read.
    func storedCount() -> Int {
        let written = try? file.perform { database throws(SQLiteError) in
            try database.first("SELECT count(DISTINCT md5) FROM photo WHERE isStored = 1") { row in Int(row.integer(0))
            }
        }
        return (written ?? nil) ?? 0
    }

    /// Which of these files a backup has seen in S3, unchanged, in the time before now.
    ///
    /// - Returns: by path, how many bytes each has.
    func stored(_ paths: [String], within time: Duration) -> [String: Int64] {
        let now = wallClock().timeIntervalSince1970
        var found: [String: Int64] = [:]
        for path in paths {
            guard let stamp = try? FileStamp(path: path), let row = row(of: stamp), row.isStored,
                // A clock that was set back says nothing about the time since.
                (0..<(time / .seconds(1))).contains(now - row.seen)
            else { continue }
            found[path] = stamp.byteCount
        }
        return found
    }

    /// - Returns: `nil` when the file must be read.
    func digest(of stamp: FileStamp) -> PhotoDigest? { row(of: stamp)?.digest }

    /// - Parameter isStored: whether S3 has the photo, by its response in this run.
    /// - Throws: ``CloakroomError`` when a batch could not be written.
    func keep(_ digest: PhotoDigest, of stamp: FileStamp, isStored: Bool) throws {
        let now = wallClock()
        guard stamp.isSettled(at: now) else { return }
        let seen = now.timeIntervalSince1970
        if let known = row(of: stamp), known.digest == digest, known.isStored || !isStored,
            seen - known.seen < Self.longestUnwritten
        {
            return
        }
        pending[FileID(stamp)] = Row(stamp: stamp, digest: digest, isStored: isStored, seen: seen)
        if pending.count >= Self.batch { try flush() }
    }

    /// Writes what is pending, or forgets it when that fails: there may be no room for it in this whole run.
    func flush() throws {
        guard !pending.isEmpty else { return }
        defer { pending = [:] }
        try file.perform { database throws(SQLiteError) in
            try database.transaction { () throws(SQLiteError) in
                for row in pending.values { try database.run(Self.insertion, row.values) }
            }
        }
    }

    private func row(of stamp: FileStamp) -> Row? {
        let fileID = FileID(stamp)
        if let row = pending[fileID] { return row.stamp == stamp ? row : nil }
        // Whatever cannot be read is as good as not known.
        let row = try? file.perform { database throws(SQLiteError) in
            try database.first(Self.selection, stamp.values) { row throws(SQLiteError) in
                PhotoDigest(bytes: row.blob(0)).map {
                    Row(stamp: stamp, digest: $0, isStored: row.integer(1) != 0, seen: row.real(2))
                }
            }
        }
        return row ?? nil
    }

    /// Where a file is, whatever is in it.
    private struct FileID: Hashable {
        let device, inode: UInt64

        init(_ stamp: FileStamp) { (device, inode) = (stamp.device, stamp.inode) }
    }

    private struct Row {
        let stamp: FileStamp
        let digest: PhotoDigest
        let isStored: Bool
        /// In seconds since 1970.
        let seen: Double

        var values: [SQLiteValue] {
            stamp.values + [.blob(digest.bytes), .integer(isStored ? 1 : 0), .real(seen)]
        }
    }

    // MARK: Schema

    /// Half a year.
    private static let longestUnseen: Double = 180 * 86_400
    /// A day: a launch that finds everything as it was writes nothing.
    private static let longestUnwritten: Double = 86_400

    private static let kind = RecordsFile.Kind(
        name: "the index of photos",
        migrations: [
            """
            CREATE TABLE photo (
                device INTEGER NOT NULL, inode INTEGER NOT NULL, byteCount INTEGER NOT NULL, modified INTEGER NOT NULL,
                changed INTEGER NOT NULL, md5 BLOB NOT NULL, isStored INTEGER NOT NULL, seen REAL NOT NULL,
                PRIMARY KEY (device, inode)
            ) WITHOUT ROWID
            """,
            RecordsFile.ownerTable,
        ],
        tables: ["photo"],
        durability: .processEnd)
    private static let insertion = "INSERT OR REPLACE INTO photo VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    private static let selection = """
        SELECT md5, isStored, seen FROM photo
        WHERE device = ? AND inode = ? AND byteCount = ? AND modified = ? AND changed = ?
        """
}

extension FileStamp {
    fileprivate var values: [SQLiteValue] {
        [
            .integer(Int64(bitPattern: device)), .integer(Int64(bitPattern: inode)), .integer(byteCount),
            .integer(modified), .integer(changed),
        ]
    }
}
