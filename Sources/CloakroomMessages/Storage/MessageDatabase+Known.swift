import CloakroomSQLite

extension MessageDatabase {
    /// Messages are known by entries that are there from their admission on: a purge writes none at random places, and
    /// removes none.
    ///
    /// A table with a column that is unique cannot be changed, so that messages are copied, and attachments, which would go
    /// with the former ones.
    static let knownMessages = """
        -- What was ever here, and is not to come back: a tombstone when `message` has no row of this seq any more.
        CREATE TABLE known (
            id BLOB PRIMARY KEY,                     -- the keyed hash of conversation, author and name
            seq INTEGER,                             -- NULL: it was never stored
            until INTEGER                            -- days since 1970; NULL: for ever
        ) WITHOUT ROWID;
        INSERT INTO known (id, seq, until)
        SELECT id, NULL, until FROM tombstone
        UNION ALL SELECT id, seq,
            CASE WHEN clock = 0 AND stamp IS NOT NULL THEN (base + 31536000000) / 86400000 + 1 END FROM message
        ORDER BY 1;
        DROP TABLE tombstone;
        -- The first day after which one of them is needless; none without a row.
        CREATE TABLE needless (id INTEGER PRIMARY KEY CHECK (id = 1), day INTEGER NOT NULL);
        INSERT INTO needless (id, day)
        SELECT 1, day FROM (SELECT min(until) AS day FROM known) WHERE day IS NOT NULL;

        CREATE TABLE former_attachment AS SELECT * FROM attachment;
        DROP TABLE attachment;
        CREATE TABLE next_message (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
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
        INSERT INTO next_message (seq, name, conversation, author, clock, base, wall_lead, stamp, own_policy, shared,
            deadline, quotes, quotes_author, slot, body)
        SELECT seq, name, conversation, author, clock, base, wall_lead, stamp, own_policy, shared, deadline, quotes,
            quotes_author, slot, body FROM message ORDER BY seq;
        -- Numbers of purged messages are not given again.
        DELETE FROM sqlite_sequence WHERE name = 'next_message';
        INSERT INTO sqlite_sequence (name, seq) SELECT 'next_message', seq FROM sqlite_sequence WHERE name = 'message';
        DROP TABLE message;
        ALTER TABLE next_message RENAME TO message;
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
        INSERT INTO attachment (message, position, asset_key, release_token, file, file_key)
        SELECT message, position, asset_key, release_token, file, file_key FROM former_attachment;
        DROP TABLE former_attachment;
        """
}
