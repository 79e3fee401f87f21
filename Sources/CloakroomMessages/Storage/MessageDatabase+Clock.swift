import CloakroomKit
import CloakroomSQLite
import Foundation

extension MessageDatabase {
    /// The clock as it was written last.
    ///
    /// One that is damaged, or of a later version, is begun anew from what messages say: neither are they purged before
    /// they are over, nor shown when they may be.
    func clock(at reading: RetentionClock.Reading) throws(CloakroomError) -> RetentionClock {
        let (text, last) = try perform { database throws(SQLiteError) in
            (
                try database.first("SELECT state FROM clock WHERE id = 1") { $0.text(0) },
                try database.first("SELECT max(clock) FROM message WHERE clock >= 2") { $0.integerIfPresent(0) } ?? nil
            )
        }
        // Of messages that the device's own clock measures, the last start of the device.
        let lastRun = last.map { $0.minus(MessageBase.Clock.device(run: 0).rawValue) } ?? -1
        if let text, let clock = try? JSONDecoder().decode(RetentionClock.self, from: Data(text.utf8)),
            clock.isPossible, clock.run >= lastRun
        {
            return clock
        }
        return try recoveredClock(at: reading, run: lastRun.plus(1))
    }

    private func recoveredClock(
        at reading: RetentionClock.Reading, run: Int64
    ) throws(CloakroomError) -> RetentionClock {
        let (newestShared, newestOwn, setAhead) = try perform { database throws(SQLiteError) in
            (
                try database.first("SELECT max(base) FROM message WHERE clock < 2") { $0.integerIfPresent(0) } ?? nil,
                try database.first(
                    "SELECT base, wall_lead FROM message WHERE clock >= 2 ORDER BY clock DESC, base DESC LIMIT 1"
                ) { (base: $0.integer(0), wallLead: $0.integer(1)) },
                try database.first("SELECT max(set_ahead) FROM message WHERE clock >= 2") { $0.integer(0) } ?? 0
            )
        }
        // Each is a time that has passed. By how much the two clocks differ, the wall clock tells that showed them once:
        // cuts are compared with messages by that.
        var (shared, device): (Milliseconds, Milliseconds)
        switch (newestShared, newestOwn) {
        case (nil, nil): return RetentionClock(at: reading)
        case (let newest?, nil): (shared, device) = (newest, newest)
        case (let newest, let own?):
            shared = min(newest ?? .max, own.base.plus(own.wallLead))
            device = shared.minus(own.wallLead)
        }
        return RetentionClock(recovered: reading, run: run, shared: shared, device: device, setAhead: setAhead)
    }
}
