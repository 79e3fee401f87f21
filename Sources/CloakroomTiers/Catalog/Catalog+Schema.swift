extension Catalog {
    /// What was published once does not change: later versions append.
    static let migrations = [
        """
        CREATE TABLE photo (
            id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a request that is under way must not meet another photo
            sha256 BLOB UNIQUE,              -- NULL: known from a listing, not yet read
            md5 BLOB NOT NULL,
            byte_count INTEGER NOT NULL,
            format TEXT NOT NULL,
            taken_at INTEGER NOT NULL,       -- dates in milliseconds since 1970
            added_at INTEGER NOT NULL,
            viewed_at INTEGER,
            pinned INTEGER NOT NULL DEFAULT 0,
            state INTEGER NOT NULL,          -- PhotoState
            tier TEXT,                       -- what the proof is of: TierIdentity, key, tag and date
            remote_key TEXT,
            entity_tag TEXT,
            verified_at INTEGER,
            retry_at INTEGER,
            -- Beside a blob it would have the blob written again.
            thumbnail_uploaded INTEGER NOT NULL DEFAULT 0,
            segment INTEGER,                 -- the snapshot that names the photo as it is; NULL: none does
            CHECK (state < 3 OR (tier IS NOT NULL AND remote_key IS NOT NULL
                AND (verified_at IS NOT NULL OR sha256 IS NULL)))
        );
        CREATE TABLE photo_name (name TEXT PRIMARY KEY, photo INTEGER NOT NULL REFERENCES photo) WITHOUT ROWID;
        CREATE TABLE thumbnail (
            photo INTEGER PRIMARY KEY REFERENCES photo, width INTEGER NOT NULL, height INTEGER NOT NULL,
            bytes BLOB NOT NULL);            -- none: there is no picture in the photo
        CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE INDEX timeline ON photo (taken_at DESC, id);
        CREATE INDEX due ON photo (added_at) WHERE state < 3;
        CREATE INDEX photo_md5 ON photo (md5);
        CREATE INDEX name_photo ON photo_name (photo);
        CREATE INDEX evicting ON photo (id) WHERE state = 3;
        CREATE INDEX unpublished ON photo (id) WHERE segment IS NULL;
        """,
        // The snapshots of this device, what the user removed, and alarms.
        """
        CREATE TABLE segment (
            sequence INTEGER PRIMARY KEY, byte_count INTEGER NOT NULL, entry_count INTEGER NOT NULL,
            is_confirmed INTEGER NOT NULL DEFAULT 0,      -- the store has said that it has it
            is_merged INTEGER NOT NULL DEFAULT 0,         -- made of others, or large: it is merged no more
            is_retiring INTEGER NOT NULL DEFAULT 0);      -- what it names goes to new ones, and then it is deleted
        CREATE INDEX published ON photo (segment) WHERE segment IS NOT NULL;
        -- Photos (SHA-256, or MD5 where it is not known) that snapshots of this device may name and that are gone.
        CREATE TABLE removal (photo BLOB PRIMARY KEY, segment INTEGER) WITHOUT ROWID;
        -- Documents of this device that are to be deleted, or were lately.
        CREATE TABLE obsolete_document (name TEXT PRIMARY KEY, deleted_at INTEGER) WITHOUT ROWID;
        CREATE TABLE tombstone (
            md5 BLOB PRIMARY KEY, sha256 BLOB NOT NULL, byte_count INTEGER NOT NULL, format TEXT NOT NULL,
            tier TEXT NOT NULL, removed_at INTEGER NOT NULL,
            intent TEXT,                     -- the document that announces the deletion
            announced_at INTEGER             -- by the store's clock
        ) WITHOUT ROWID;
        -- Files of removed photos, until they are gone: else they would be taken for photos without a record.
        CREATE TABLE removed_file (name TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE alarm (
            kind TEXT PRIMARY KEY, photo_count INTEGER NOT NULL, example TEXT NOT NULL, since INTEGER NOT NULL
        ) WITHOUT ROWID;
        -- Whatever a snapshot says of a photo, a change of it has to be published; state and views are none of it.
        CREATE TRIGGER photo_changed AFTER UPDATE OF sha256, md5, byte_count, format, taken_at, added_at, pinned ON photo
        WHEN OLD.segment IS NOT NULL AND (OLD.sha256 IS NOT NEW.sha256 OR OLD.md5 <> NEW.md5
            OR OLD.byte_count <> NEW.byte_count OR OLD.format <> NEW.format OR OLD.taken_at <> NEW.taken_at
            OR OLD.added_at <> NEW.added_at OR OLD.pinned <> NEW.pinned)
        BEGIN UPDATE photo SET segment = NULL WHERE id = NEW.id; END;
        CREATE TRIGGER photo_renamed AFTER UPDATE OF sha256, md5 ON photo
        WHEN ifnull(OLD.sha256, OLD.md5) <> ifnull(NEW.sha256, NEW.md5)
        BEGIN
            INSERT OR REPLACE INTO removal (photo) VALUES (ifnull(OLD.sha256, OLD.md5));
            DELETE FROM removal WHERE photo = ifnull(NEW.sha256, NEW.md5);
        END;
        CREATE TRIGGER photo_added AFTER INSERT ON photo
        BEGIN DELETE FROM removal WHERE photo = ifnull(NEW.sha256, NEW.md5); END;
        CREATE TRIGGER photo_removed AFTER DELETE ON photo
        BEGIN INSERT OR REPLACE INTO removal (photo) VALUES (ifnull(OLD.sha256, OLD.md5)); END;
        CREATE TRIGGER name_added AFTER INSERT ON photo_name
        BEGIN UPDATE photo SET segment = NULL WHERE id = NEW.photo AND segment IS NOT NULL; END;
        CREATE TRIGGER name_removed AFTER DELETE ON photo_name
        BEGIN UPDATE photo SET segment = NULL WHERE id = OLD.photo AND segment IS NOT NULL; END;
        CREATE TRIGGER name_changed AFTER UPDATE ON photo_name
        BEGIN UPDATE photo SET segment = NULL WHERE id IN (OLD.photo, NEW.photo) AND segment IS NOT NULL; END;
        """,
        // Deletions in the tier that were sent, and may still be on their way: see SentDeletions.
        """
        CREATE TABLE sent_deletion (
            md5 BLOB PRIMARY KEY, tier TEXT NOT NULL,
            intent TEXT,                     -- the document that keeps the photo on the user's other devices
            ended_at INTEGER                 -- by the store's clock: nothing was being sent any more; NULL: not known yet
        ) WITHOUT ROWID;
        -- Earlier versions did not say which of those that they announced they had sent.
        INSERT INTO sent_deletion (md5, tier, intent) SELECT md5, tier, intent FROM tombstone WHERE intent IS NOT NULL;
        -- Devices whose documents are gone, and since when that is known.
        CREATE TABLE absent_device (
            tier TEXT NOT NULL, device TEXT NOT NULL, published_at INTEGER NOT NULL, since INTEGER NOT NULL,
            PRIMARY KEY (tier, device)
        ) WITHOUT ROWID;
        """,
    ]
}
