import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
public import Foundation

/// Messages in a file, sealed with keys that go when the messages end.
///
/// The folder has the database, the sealed files of attachments and the key file; the master key is in the vault. One
/// process at a time has it open: ``MessageRetention`` is what an app works with.
public actor SQLiteMessageStorage {
    /// What opening found, and could not continue with.
    public enum Loss: Sendable, Hashable {
        /// The keys are gone, as when the files were restored on another device, and the app has said to begin anew: messages
        /// that were here cannot be read any more, and the next purge removes them. Policies are still known.
        case vault
        /// The database was damaged. It was moved aside, sealed as it is, and a new one begun, which has the policies.
        case database
        /// Besides ``database``: not all policies could be read. What this user wants may be
        /// ``MessageRetentionPolicy/noStorage`` again, here and at peers; have them choose once more.
        case policies
    }

    let folder: MessageFolder
    let files: SealedAttachments
    let vault: any KeyVault
    /// Replaced by ``finishErasing(_:)``.
    var database: MessageDatabase
    var keys: MessageKeys
    /// As it is written, but for what has passed since.
    var clock: RetentionClock
    /// The same with the server's time, while that could not be written.
    var heardClock: RetentionClock?
    /// Why it could not; `nil` when there is nothing to be written.
    var clockFailure: CloakroomError?
    /// What was lost when the storage was opened; empty mostly.
    public internal(set) var losses: Set<Loss>
    /// What is hashed into names of purged messages.
    var hash: HMACSHA256
    /// By their names.
    var conversations: [ConversationID: ConversationRow] = [:]
    /// Keys that are about to be dropped: nothing new is sealed with them.
    var retiring: Set<MessageKeyID> = []
    /// Batches that were purged since the log was written back last.
    var unwrittenBatches = 0
    /// What is known of messages that need not be any more.
    var pruning: TombstonePruning
    /// Counts what a scan of a conversation's messages for cuts has to begin anew for: see ``cutChanges(of:)``.
    var cutChanges: [ConversationID: Int] = [:]
    /// The same for all conversations.
    var allCutChanges = 0
    /// Deletions that could not be written, by the last message each: see ``writeDeletions()``.
    var unwrittenDeletions: [ConversationID: Int64] = [:]
    /// From ``beginErasing()`` to ``finishErasing(_:)``, also across launches: nothing new is kept.
    var isErasing: Bool
    /// The device's time and the wall clock when the clock was last written.
    var writtenTimes: (device: Milliseconds, wall: Milliseconds)?
    /// What cuts are measured with.
    var reader: ParticipantID?
    var limits = RetentionLimits()
    /// What keys of images for chats begin with; `nil`: unknown.
    var chatKeyPrefix: String?
    /// Messages in memory that have ended, and whose notes handlers have not had yet.
    var endedNotes: Set<[UInt8]> = []
    /// Images of former processes' messages in memory count as if these were here: see ``endFormerImages()``.
    var areFormerImagesHeld = false
    let step: @Sendable (PurgeStep) throws -> Void
    /// `nil` after ``close()``.
    private var lock: FolderLock?

    /// Opens a storage, or makes one.
    ///
    /// - Parameters:
    ///   - folder: made when it is not there, for its user alone. One user's: another user's messages need another one, and
    ///     ``MessageRetention`` refuses any other user of it.
    ///   - vault: outside of the folder, and of backups; one for each folder. A folder without messages begins with a new key
    ///     in it: what another folder has was sealed under the former one, and is lost.
    ///   - beginningAnewIfLost: what to do where no key opens the messages that are here: `true` begins with new keys, and has
    ///     the next purge remove these messages; ``losses`` has ``Loss/vault`` then. `false` changes nothing, and throws.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/vaultLocked`` until the first unlock after a start of the device,
    ///   ``CloakroomError/Code/vaultLost``, ``CloakroomError/Code/laterVersion``, ``CloakroomError/Code/storeInUse``,
    ///   ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/storeFailed``.
    public init(folder: URL, vault: any KeyVault, beginningAnewIfLost: Bool = false) async throws {
        try await self.init(
            folder: folder, vault: vault, beginningAnewIfLost: beginningAnewIfLost, reading: .current(),
            step: { _ in })
    }

    /// - Parameters:
    ///   - reading: of the device's clocks.
    ///   - step: called before and after each step of a purge; what it throws ends the purge there.
    package init(
        folder: URL, vault: any KeyVault, beginningAnewIfLost: Bool = false, reading: RetentionClock.Reading,
        step: @escaping @Sendable (PurgeStep) throws -> Void
    ) async throws {
        let folder = MessageFolder(folder)
        try folder.make()
        guard let lock = try FolderLock(at: folder.url.appendingPathComponent("lock", isDirectory: false)) else {
            throw CloakroomError(.storeInUse, "another process has the messages open")
        }
        let isErasing = folder.isErasing
        if isErasing { try await MessageKeys.erase(in: folder.keys.path, vault: vault) }
        let opened = try await MessageKeys.open(
            in: folder.keys.path, vault: vault, beginsAnew: beginningAnewIfLost || isErasing || !folder.hasDatabase)
        let (database, losses) = try Self.openDatabase(folder, keys: opened.keys, reading)
        self.folder = folder
        self.vault = vault
        self.lock = lock
        self.step = step
        files = SealedAttachments(in: folder.attachments)
        keys = opened.keys
        self.database = database
        self.losses = isErasing ? [] : losses
        self.isErasing = isErasing
        // Names of messages that are being erased are needed for handlers.
        if !isErasing, try database.isUnreadable(with: opened.keys) {
            try database.endUnreadable()
            self.losses.insert(.vault)
        }
        if !isErasing, opened.keys.key(Self.hashKeyID) == nil { try database.endMovedAside() }
        hash = try Self.nameHash(opened.keys)
        clock = try database.clock(at: reading)
        retiring = try database.retiringKeys()
        pruning = try database.pruning()
        try readDeletions()
        follow(reading)
        // A full disk is no reason not to tell what is lost.
        if !self.losses.isEmpty { _ = try? rememberEnded() }
        try endFormerNotes()
        try compareFiles()
    }

    /// Gives the folder back, so that another process can open it; calls afterwards fail. Without it, the end of the object
    /// does it.
    ///
    /// For a folder that an app shares with its extensions: the system ends apps that hold a lock there while they are
    /// suspended. It waits for a rotation of the keys that is under way: another process must not meet half of one.
    public func close() async {
        writeClock()
        await keys.close()
        release()
    }

    /// Gives the folder back as it is, as the end of the process does.
    func release() {
        database.database.close()
        lock = nil
    }

    /// Whether the folder is this one's.
    var isOpen: Bool { lock != nil }

    /// Whose storage it is, and within which limits; before anything else.
    ///
    /// - Throws: ``CloakroomError/Code/storeOwnerMismatch`` for another user than the first one,
    ///   ``CloakroomError/Code/storeFailed``.
    func begin(
        for reader: ParticipantID, limits: RetentionLimits, chatKeyPrefix: String?
    ) throws(CloakroomError) {
        // What is being erased can be opened by no key, and what comes after it may be another user's.
        if !isErasing {
            switch try database.isOwned(by: reader) {
            case true?: break
            // A full disk is no reason not to read what is stored.
            case nil: _ = try? database.setOwner(reader)
            case false?:
                throw CloakroomError(
                    .storeOwnerMismatch,
                    "the messages are another user's: each user has a folder and a vault of their own")
            }
        }
        self.reader = reader
        self.limits = limits
        self.chatKeyPrefix = chatKeyPrefix
        // A full disk is no reason not to read what is stored.
        _ = try? endFormerImages()
    }

    /// A database that is damaged is moved aside.
    private static func openDatabase(
        _ folder: MessageFolder, keys: MessageKeys, _ reading: RetentionClock.Reading
    ) throws(CloakroomError) -> (MessageDatabase, Set<Loss>) {
        do throws(SQLiteError) {
            if !MessageDatabase.isMarkedDamaged(folder.database) {
                let database = try MessageDatabase(at: folder.database)
                // The process that has moved one aside may have ended before it was recorded.
                return (database, try database.recordMovedAside(in: folder, keys: keys, reading))
            }
        } catch {
            guard error == .corrupt else { throw MessageDatabase.failure(error) }
        }
        do throws(SQLiteError) {
            let path = try SQLiteDatabase.moveAside(at: folder.database.path, on: reading.wall.date)
            MessageDatabase.unmarkDamaged(folder.database)
            let database = try MessageDatabase(at: folder.database)
            let last = URL(fileURLWithPath: path, isDirectory: false).lastPathComponent
            let losses = try database.recordMovedAside(in: folder, last: last, keys: keys, reading)
            return (database, losses.union([.database]))
        } catch {
            throw MessageDatabase.failure(error)
        }
    }

    /// Rows of conversations count from 1, so this is no conversation's key. It lasts as long as the key file: without it
    /// a tombstone says nothing about any message.
    static let hashKeyID = MessageKeyID(conversation: 0, slot: .endless)

    static func nameHash(_ keys: MessageKeys) throws(CloakroomError) -> HMACSHA256 {
        try keys.prepare([hashKeyID])
        guard let key = keys.key(hashKeyID) else { throw CloakroomError(.storeFailed, "the keys have no room") }
        return HMACSHA256(key: key.reveal())
    }

    /// What a message is known by when it is gone: 96 bits, for which no second name can be found without the key.
    func rowID(_ message: MessageReference) -> [UInt8] {
        // Names have no control characters, so no two references are the same bytes.
        var names: [UInt8] = []
        names.reserveCapacity(3 * 129)
        names.append(contentsOf: message.conversation.rawValue.utf8)
        names.append(0)
        names.append(contentsOf: message.author.rawValue.utf8)
        names.append(0)
        names.append(contentsOf: message.id.rawValue.utf8)
        return Array(hash.authenticate(names).prefix(12))
    }

    /// The same of an image.
    func assetID(_ key: String) -> [UInt8] { Array(hash.authenticate([0] + Array(key.utf8)).prefix(12)) }

    // MARK: Starting

    /// Forgets files that are not there, and removes those that no message names, as when the process ended between the two.
    private func compareFiles() throws(CloakroomError) {
        let named = try database.perform { database throws(SQLiteError) in
            try database.rows("SELECT message, position, file FROM attachment WHERE file IS NOT NULL") {
                (message: $0.integer(0), position: $0.integer(1), file: $0.text(2))
            }
        }
        if !named.isEmpty {
            let names = try files.names()
            let missing = named.filter { !names.contains($0.file) }
            if !missing.isEmpty {
                // A full disk is no reason not to read what is there.
                _ = try? database.transaction { database throws(SQLiteError) in
                    for attachment in missing {
                        try database.run(
                            "UPDATE attachment SET file = NULL, file_key = NULL WHERE message = ? AND position = ?",
                            [.integer(attachment.message), .integer(attachment.position)])
                    }
                }
            }
        }
        // Those of a database that was moved aside go with it.
        guard
            try database.perform({ database throws(SQLiteError) in
                try database.first("SELECT 1 FROM moved_aside") { _ in true } == nil
            })
        else { return }
        try files.removeAll(except: Set(named.compactMap { AttachmentFile(rawValue: $0.file) }))
    }
}

extension DeadlineSlot {
    /// Whether its messages have no end. Keys that took the place of retired ones count down from the last number.
    var isEndless: Bool { rawValue > .max - 1_000_000_000 }

    /// The slot whose key takes the place of this one's.
    var successor: DeadlineSlot { DeadlineSlot(rawValue: isEndless ? rawValue - 1 : rawValue + 1) }
}
