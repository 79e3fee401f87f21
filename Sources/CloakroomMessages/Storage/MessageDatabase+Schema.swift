extension MessageDatabase {
    /// What was published once does not change: later versions append.
    ///
    /// Dates are in milliseconds since 1970, policies in seconds; a policy without a limit is NULL.
    static let migrations = [
        """
        CREATE TABLE conversation (
            id INTEGER PRIMARY KEY AUTOINCREMENT,    -- the keys of one that was erased must not meet another one
            name TEXT NOT NULL UNIQUE,
            deleted_through INTEGER NOT NULL DEFAULT 0,  -- messages up to this seq are to be purged, whatever their end
            cuts_pending INTEGER NOT NULL DEFAULT 0, -- 1: deadlines in `message` do not follow its cuts yet
            arrived_expired INTEGER NOT NULL DEFAULT 0);
        CREATE INDEX conversation_deleted ON conversation (id) WHERE deleted_through > 0;
        CREATE INDEX conversation_cuts ON conversation (id) WHERE cuts_pending = 1;
        CREATE TABLE member (
            conversation INTEGER NOT NULL REFERENCES conversation, participant TEXT NOT NULL,
            PRIMARY KEY (conversation, participant)) WITHOUT ROWID;
        CREATE TABLE register (
            conversation INTEGER NOT NULL REFERENCES conversation, author TEXT NOT NULL,
            version INTEGER NOT NULL, legacy_time INTEGER NOT NULL, after_sent INTEGER,
            PRIMARY KEY (conversation, author)) WITHOUT ROWID;
        CREATE TABLE cut (
            conversation INTEGER NOT NULL REFERENCES conversation, author TEXT NOT NULL,
            after_sent INTEGER NOT NULL, before INTEGER NOT NULL,
            certain INTEGER NOT NULL DEFAULT 0,      -- `before` as far as it is by a time that all share
            PRIMARY KEY (conversation, author, after_sent)) WITHOUT ROWID;

        -- Who has sent a message of a later version of the protocol since the last one that was understood.
        CREATE TABLE later_version (
            conversation INTEGER NOT NULL REFERENCES conversation, author TEXT NOT NULL,
            PRIMARY KEY (conversation, author)) WITHOUT ROWID;

        CREATE TABLE message (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL UNIQUE,                 -- the keyed hash of its conversation, author and name
            name TEXT NOT NULL,
            conversation INTEGER NOT NULL REFERENCES conversation,
            author TEXT NOT NULL,
            clock INTEGER NOT NULL,                  -- MessageBase.Clock: that of base, shared and deadline
            base INTEGER NOT NULL, wall_lead INTEGER NOT NULL,
            stamp INTEGER, own_policy INTEGER,
            shared INTEGER,                          -- what everybody computes
            deadline INTEGER,                        -- here; NULL: no end
            quotes TEXT, quotes_author TEXT,         -- the message of the same conversation that it quotes
            slot INTEGER NOT NULL,                   -- DeadlineSlot: the key of its body
            body BLOB NOT NULL);                     -- sealed
        CREATE INDEX message_due ON message (deadline) WHERE deadline IS NOT NULL AND clock < 2;
        CREATE INDEX message_due_device ON message (deadline) WHERE deadline IS NOT NULL AND clock >= 2;
        CREATE INDEX message_due_wall ON message (deadline + wall_lead) WHERE deadline IS NOT NULL AND clock >= 2;
        CREATE INDEX message_device ON message (clock) WHERE clock >= 2;
        CREATE INDEX message_key ON message (conversation, slot);
        CREATE INDEX message_base ON message (conversation, base);
        -- By another clock the same deadline is another number.
        CREATE TRIGGER deadline_rises BEFORE UPDATE OF deadline, shared ON message
        WHEN NEW.clock = OLD.clock
            AND (ifnull(NEW.deadline, 9223372036854775807) > ifnull(OLD.deadline, 9223372036854775807)
                OR ifnull(NEW.shared, 9223372036854775807) > ifnull(OLD.shared, 9223372036854775807))
        BEGIN SELECT RAISE(ABORT, 'a deadline never rises'); END;
        CREATE TABLE attachment (
            message INTEGER NOT NULL REFERENCES message ON DELETE CASCADE, position INTEGER NOT NULL,
            asset_key TEXT, release_token TEXT,
            file TEXT, file_key BLOB,                -- the file's own key, sealed with that of the body
            PRIMARY KEY (message, position)) WITHOUT ROWID;
        CREATE INDEX attachment_asset ON attachment (asset_key) WHERE asset_key IS NOT NULL;
        CREATE TABLE tombstone (
            id BLOB PRIMARY KEY,                     -- as that of the message
            until INTEGER                            -- days since 1970; NULL: for ever
        ) WITHOUT ROWID;
        -- What handlers and the bucket have of messages in memory: each as long as its message, and then until that is gone.
        CREATE TABLE memory_note (
            id BLOB PRIMARY KEY,                     -- as that of the message
            conversation INTEGER NOT NULL REFERENCES conversation,
            content BLOB NOT NULL                    -- sealed with a key of the conversation's for its notes
        ) WITHOUT ROWID;
        CREATE INDEX memory_note_conversation ON memory_note (conversation);
        -- Images of messages in memory, as long as these are here: keyed hashes.
        CREATE TABLE memory_image (
            message BLOB NOT NULL, asset BLOB NOT NULL, is_own INTEGER NOT NULL,
            PRIMARY KEY (message, asset)) WITHOUT ROWID;
        CREATE INDEX memory_image_asset ON memory_image (asset);

        -- At most one at a time; the messages of its present batch are in `condemned`.
        CREATE TABLE purge (id INTEGER PRIMARY KEY CHECK (id = 1), step INTEGER NOT NULL);
        CREATE TABLE condemned (seq INTEGER PRIMARY KEY);
        -- Keys that have sealed what was purged before the end of their slot: what is left there goes to other keys.
        CREATE TABLE retiring_key (
            conversation INTEGER NOT NULL, slot INTEGER NOT NULL, PRIMARY KEY (conversation, slot)) WITHOUT ROWID;
        -- Images that the bucket is to delete; those with the largest retry_at wait for a message in memory.
        CREATE TABLE release (
            asset_key TEXT PRIMARY KEY, token TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
            retry_at INTEGER NOT NULL DEFAULT 0      -- by the clock that cannot be set
        ) WITHOUT ROWID;
        CREATE INDEX release_retry ON release (retry_at);
        -- Keyed hashes of images that no message has any more.
        CREATE TABLE ended_asset (id BLOB PRIMARY KEY) WITHOUT ROWID;
        -- Databases that were damaged; removed when the last of their messages would have ended. NULL: with the rest.
        CREATE TABLE moved_aside (path TEXT PRIMARY KEY, until INTEGER) WITHOUT ROWID;
        CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL);
        """,
        knownMessages,
        uncertainCuts,
        quotingMessages,
        ownEnds,
        clockSettings,
        owner,
    ]

    /// What is not certain of a cut has a row of its own: a later certain one of the same duration must not hide it before
    /// it is corrected.
    private static let uncertainCuts = """
        -- `before` by a clock that may be wrong; the cut reaches to the later of this and `certain`.
        CREATE TABLE uncertain_cut (
            conversation INTEGER NOT NULL REFERENCES conversation, author TEXT NOT NULL,
            after_sent INTEGER NOT NULL, before INTEGER NOT NULL,
            PRIMARY KEY (conversation, author, after_sent)) WITHOUT ROWID;
        INSERT INTO uncertain_cut (conversation, author, after_sent, before)
        SELECT conversation, author, after_sent, before FROM cut WHERE before > certain;
        """

    /// Finds what quotes a message that arrives only then.
    private static let quotingMessages = """
        CREATE INDEX message_quotes ON message (conversation, quotes) WHERE quotes IS NOT NULL;
        """

    /// What a message takes from one that it quotes depends on whose decision ended that.
    ///
    /// In `known`, 0 as `seq` says from now on that it was in memory, and NULL that it was over when it arrived; before, both
    /// were NULL.
    private static let ownEnds = """
        -- As `deadline`, by what this user decided alone; NULL: no end. Of former messages it is taken for all of it.
        ALTER TABLE message ADD COLUMN own_end INTEGER;
        UPDATE message SET own_end = deadline;
        UPDATE known SET seq = 0 WHERE seq IS NULL;
        -- Messages up to this seq that are gone may have been deleted here, and be live at other participants.
        ALTER TABLE conversation ADD COLUMN last_deleted INTEGER NOT NULL DEFAULT 0;
        UPDATE conversation SET last_deleted = deleted_through;
        -- By the clock that cannot be set: when the last of its messages ends for others; 0: at once.
        ALTER TABLE release ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;
        """

    /// That the wall clock is set ahead while the device is on counts for hiding, and not for purging.
    private static let clockSettings = """
        -- By how much it had been set ahead when the message came, as far as it is by the device's clock.
        ALTER TABLE message ADD COLUMN set_ahead INTEGER NOT NULL DEFAULT 0;
        DROP INDEX message_due_wall;
        CREATE INDEX message_due_steady ON message (deadline + wall_lead - set_ahead)
        WHERE deadline IS NOT NULL AND clock >= 2;
        """
}
