import CloakroomAWS
import Foundation

/// Both clocks of a device, read at once.
struct ClockReading: Sendable, Equatable {
    /// May be wrong by hours, and jumps when it is set.
    let wallClock: Date
    /// Monotonic, also while the device sleeps; restarts with the device.
    let instant: ContinuousClock.Instant
}

extension RuntimeDependencies {
    var clockReading: ClockReading { ClockReading(wallClock: wallClock(), instant: now()) }
}

/// What time it is for the server: known at one moment, carried on from there by the device's own clocks.
struct ServerTime: Sendable, Equatable, Codable {
    /// What the server's clock showed.
    let date: Date
    /// What the device's clocks showed then.
    private let wallClock: Date
    private let instant: ContinuousClock.Instant

    init(_ date: Date, at reading: ClockReading) {
        self.date = date
        wallClock = reading.wallClock
        instant = reading.instant
    }

    /// The server's time now, by the monotonic clock.
    func time(at reading: ClockReading) -> Date { date.addingTimeInterval(elapsed(reading)) }

    /// The same if the wall clock was right to jump ahead: for all we know, the device was frozen and thawed.
    func latestTime(at reading: ClockReading) -> Date {
        date.addingTimeInterval(max(elapsed(reading), elapsedOnWall(reading)))
    }

    /// The same in another process, perhaps after a restart of the device.
    ///
    /// As long as both clocks agree on what has passed, neither was restarted or set. Otherwise only the wall clock
    /// counts; it is read with and without the error it had then, and the later time is used.
    ///
    /// - Returns: `nil` when the clock was set back, so that the elapsed time is unknown.
    func resumed(at reading: ClockReading) -> ServerTime? {
        let (elapsed, onWall) = (elapsed(reading), elapsedOnWall(reading))
        if elapsed >= 0, abs(elapsed - onWall) <= 60 {
            return ServerTime(date.addingTimeInterval(max(elapsed, onWall)), at: reading)
        }
        let latest = max(reading.wallClock, date.addingTimeInterval(onWall))
        return onWall >= 0 && latest >= date ? ServerTime(latest, at: reading) : nil
    }

    private func elapsed(_ reading: ClockReading) -> TimeInterval {
        // What comes out of a store may be damaged, and so far off that there is no number for it.
        let years = Duration.seconds(1_000_000_000)
        guard instant > reading.instant - years, instant < reading.instant + years else { return -.infinity }
        return (reading.instant - instant) / .seconds(1)
    }

    private func elapsedOnWall(_ reading: ClockReading) -> TimeInterval {
        reading.wallClock.timeIntervalSince(wallClock)
    }
}
