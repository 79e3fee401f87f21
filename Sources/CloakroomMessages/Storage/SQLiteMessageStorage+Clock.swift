import CloakroomKit
import CloakroomSQLite

/// What time it is, as it is written down.
extension SQLiteMessageStorage {
    /// Goes on to a reading, before something is written that depends on the time.
    ///
    /// - Throws: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/storeFailed``; nothing changed.
    func advance(to reading: RetentionClock.Reading) throws(CloakroomError) {
        var clock = clock
        let rebasing = clock.advance(to: reading)
        let correction = clock.correction(since: self.clock)
        if rebasing != nil || correction != nil {
            let advanced = clock
            try database.transaction { database throws(SQLiteError) in
                if let rebasing {
                    try database.run(
                        """
                        UPDATE message SET base = base + ?1, shared = shared + ?1, deadline = deadline + ?1,
                            own_end = own_end + ?1, clock = ?2, wall_lead = 0, set_ahead = 0
                        WHERE clock >= 2 AND clock = ?3
                        """,
                        [
                            .integer(rebasing.difference), .integer(MessageBase.Clock.server.rawValue),
                            .integer(MessageBase.Clock.device(run: rebasing.run).rawValue),
                        ])
                }
                if let correction { try Self.moveUncertainCuts(by: correction, areCertain: true, in: database) }
                try MessageDatabase.store(advanced, in: database)
            }
            // In another order now.
            allCutChanges += 1
            if correction != nil { conversations = [:] }
        }
        self.clock = clock
        clockFailure = nil
        if clock.isServerTimeKnown { heardClock = nil } else { heardClock?.advance(to: reading) }
    }

    /// The same for what only reads, and for keys that go: what cannot be written, as on a full disk, is no reason to wait.
    ///
    /// The server's time is heard in memory then, and written by a later call.
    func follow(_ reading: RetentionClock.Reading) {
        do throws(CloakroomError) { try advance(to: reading) } catch {
            clockFailure = error
            var heard = heardClock ?? clock
            heard.advance(to: reading)
            // Before that is written, cuts are by the time that was thought to be right.
            heardClock = heard.correction(since: clock) == nil ? heard : nil
            var silent = reading
            silent.server = nil
            clock.advance(to: silent)
        }
    }

    /// What is known of the time, written down or not.
    var latestClock: RetentionClock { heardClock ?? clock }

    /// The relay's time is heard before messages are measured by it: it may be the first that is right.
    ///
    /// - Parameter time: of the latest message of those that came together.
    /// - Returns: the clock that has heard it, to be stored with the messages.
    func hear(relay time: Milliseconds?) throws(CloakroomError) -> RetentionClock {
        guard let time else { return clock }
        var clock = clock
        _ = clock.base(relayTime: time, age: 0)
        guard let correction = clock.relayCorrection(since: self.clock) else { return clock }
        let heard = clock
        try database.transaction { database throws(SQLiteError) in
            try Self.moveUncertainCuts(by: correction, areCertain: false, in: database)
            try MessageDatabase.store(heard, in: database)
        }
        allCutChanges += 1
        conversations = [:]
        self.clock = clock
        return clock
    }

    /// Writes down what time it is, when a minute has passed since that was done: a clock that is set back, and a new start,
    /// must not make what was shown last younger.
    func keepTime() {
        if let writtenTimes, clock.device.minus(writtenTimes.device).magnitude < 60_000,
            clock.wall.minus(writtenTimes.wall).magnitude < 60_000
        {
            return
        }
        writeClock()
    }

    /// What cannot be written, as on a full disk, is no reason not to read.
    func writeClock() {
        let state = clock
        let isWritten: Void? = try? database.perform { database throws(SQLiteError) in
            try MessageDatabase.store(state, in: database)
        }
        if isWritten != nil { writtenTimes = (state.device, state.wall) }
    }
}
