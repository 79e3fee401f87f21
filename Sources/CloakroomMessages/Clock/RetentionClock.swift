/// What time it is, as far as a device can tell: the latest that it may be, and how much has passed for certain.
///
/// Messages are hidden by the latest plausible time, as a hidden one can be shown again. They are purged by trusted
/// time only: the server's, or what has passed on a clock that cannot be set. What the wall clock alone says has
/// passed while the device was off is unexplained: it hides at once, and counts for purging after 24 hours in which the
/// clocks agree, less the two days by which a clock between a day slow and a day fast can be wrong. A wall clock that is
/// set ahead while the device is on hides at once, too, and never counts: no time has passed.
///
/// A value without effects: feed it readings with ``advance(to:)``. Store it with each purge and each message that
/// arrives: what has passed since then is lost when the device starts anew.
package struct RetentionClock: Sendable, Hashable, Codable {
    /// What the device's clocks show at one moment.
    package struct Reading: Sendable, Hashable, Codable {
        /// The wall clock: may be wrong, and jumps when it is set.
        package var wall: Milliseconds
        /// A clock that cannot be set, which goes on while the device sleeps, and starts anew with the device.
        package var continuous: Milliseconds
        /// Another one after each start of the device; `nil` where the system has none.
        package var boot: String?
        /// The server's time, where a response has had it in this process.
        package var server: Milliseconds?

        package init(wall: Milliseconds, continuous: Milliseconds, boot: String?, server: Milliseconds? = nil) {
            self.wall = wall
            self.continuous = continuous
            self.boot = boot
            self.server = server
        }
    }

    /// How long the clocks must agree until what the wall clock shows counts for purging.
    package static let agreement = Milliseconds.day
    /// By how much two readings of a clock that may be a day wrong either way can differ.
    package static let uncertainty = 2 * Milliseconds.day
    /// Differences of the clocks up to this are no jumps.
    static let tolerance = Milliseconds.second

    private enum Source: Int, Codable { case wall, relay, server }

    private var last: Reading
    /// Time while the device was on, from the first reading of the wall clock.
    private(set) package var device: Milliseconds
    /// The server's time; before it was heard, the relay's; the latest that counts for purging.
    private(set) package var shared: Milliseconds
    private var source = Source.wall
    /// The lead of ``restored`` over ``shared`` when both last agreed.
    private var sharedLead: Milliseconds = 0
    /// The same when the server or a relay was last heard.
    private var heardLead: Milliseconds = 0
    /// The lead of ``steady`` over ``shared`` then.
    private var steadyLead: Milliseconds = 0
    /// The part of ``shared`` that the wall clock alone has shown.
    private var settled: Milliseconds = 0
    /// By how much the wall clock was set ahead while the device was on, in all its runs.
    private var setAhead: Milliseconds = 0
    /// The part of it in this run, in which the same clock may be set right again.
    private var setAheadInRun: Milliseconds = 0
    /// By how much it was set back while the device was on, in former runs since the server was heard: as far as it
    /// then lagged behind what had passed for certain.
    private var setBack: Milliseconds = 0
    /// By how much it was set back in this run since then; less than 0: ahead.
    private var setBackInRun: Milliseconds = 0
    /// How often the device has started.
    private(set) package var run: Int64 = 0
    /// When the server's time was last heard.
    private var heardRun: Int64?
    /// The first run in which a time by ``shared`` was noted that is not certain; `nil`: none was.
    private var uncertainRun: Int64?
    /// For how long the clocks have agreed.
    private(set) package var agreed: Milliseconds = 0

    /// A clock that has seen nothing before.
    package init(at reading: Reading) {
        last = reading
        device = reading.wall.asTime
        shared = device
        hear(reading)
    }

    /// A clock whose record is lost: behind the right time rather than ahead of it, until that is heard.
    ///
    /// Messages are hidden by the wall clock meanwhile. What was noted by the time that all share stays as it is.
    ///
    /// - Parameters:
    ///   - run: a later one than that of any message.
    ///   - shared: no later than it is by the clock that all share.
    ///   - device: no later than it is by the device's, and as far from `shared` as that is.
    ///   - setAhead: no less than ``MessageBase/setAhead`` of any message.
    package init(
        recovered reading: Reading, run: Int64, shared: Milliseconds, device: Milliseconds, setAhead: Milliseconds
    ) {
        last = reading
        self.device = device.asTime
        self.shared = shared.asTime
        self.run = run
        self.setAhead = max(0, setAhead)
        source = .relay
        hear(reading)
    }

    /// Whether it can have become what it is, as far as that shows.
    package var isPossible: Bool {
        device == device.asTime && shared == shared.asTime && run >= 0 && agreed >= 0 && (heardRun ?? run) <= run
            && settled >= 0 && setAheadInRun >= 0 && setAhead >= setAheadInRun && setBack >= 0
    }

    /// Whether the server's time has been heard since the device started.
    package var isServerTimeKnown: Bool { heardRun == run }

    /// Whether ``shared`` has ever been the server's time. A relay's is known only as far as its messages were delayed.
    package var isSharedTimeCertain: Bool { source == .server }

    /// What the wall clock shows.
    package var wall: Milliseconds { last.wall }

    /// What it would show if it had never been set ahead while the device was on.
    private var steady: Milliseconds { last.wall.minus(setAhead) }

    /// What it would show if it had not been set back in former runs. Set ahead in this one, it is set right again.
    private var restored: Milliseconds { last.wall.plus(max(0, setBack.plus(min(0, setBackInRun)))) }

    /// ``shared`` without what the wall clock alone has shown: it is no earlier than this, whatever that was set to.
    package var leastShared: Milliseconds { shared.minus(settled) }

    // MARK: Times that are not certain

    /// A time by ``shared`` is being noted that is to follow what becomes known later.
    package mutating func noteUncertainTime() {
        guard !isSharedTimeCertain else { return }
        uncertainRun = min(uncertainRun ?? run, run)
    }

    /// What is to be added to such times, which are certain then: the server's time has become known.
    ///
    /// - Parameter former: before that.
    /// - Returns: `nil` when it was known, or still is not.
    package func correction(since former: Self) -> Milliseconds? {
        guard !former.isSharedTimeCertain, isSharedTimeCertain else { return nil }
        return difference(from: former)
    }

    /// What is to be added to such times, as a relay's was heard: it is no earlier than any of its messages says.
    ///
    /// The first one can have been on its way for long. Each one that was less delayed takes some of that back.
    ///
    /// - Parameter former: just before that.
    /// - Returns: `nil` when it says nothing new, or the server's time is known.
    package func relayCorrection(since former: Self) -> Milliseconds? {
        guard source == .relay else { return nil }
        let difference = difference(from: former)
        // What the wall clock alone had shown when such a time was noted is no longer in it.
        let isTakenBack = former.settled > 0 && former.uncertainRun == run
        let correction = former.source == .relay && !isTakenBack ? max(0, difference) : difference
        return correction == 0 ? nil : correction
    }

    private func difference(from former: Self) -> Milliseconds {
        let byDevice = shared.minus(former.shared.plus(device.minus(former.device)))
        guard former.uncertainRun != run else { return byDevice }
        // The device started anew since: the time that it was off is in this difference, and nothing was wrong by that.
        // Of the two the one by which less ends.
        return min(byDevice, shared.minus(last.wall.minus(former.sharedLead)))
    }

    // MARK: Times to compare with

    /// Hide what is due by these.
    package var plausible: ClockTimes {
        ClockTimes(
            shared: max(shared, restored.minus(sharedLead), steady.minus(steadyLead)), device: device, wall: last.wall,
            steady: steady, lastRunOnWall: run)
    }

    /// Purge what is due by these.
    package var trusted: ClockTimes {
        let steady = agreed >= Self.agreement ? steady.minus(Self.uncertainty) : .min
        // In the present run it is certain how much has passed.
        return ClockTimes(shared: shared, device: device, wall: .min, steady: steady, lastRunOnWall: run.minus(1))
    }

    // MARK: Messages

    /// When a message that arrives now was sent.
    ///
    /// - Parameters:
    ///   - relayTime: the relay's, which is trusted; it also tells that it is no earlier than that.
    ///   - age: what the message says of its age when it was sent; less than 0 is 0.
    package mutating func base(relayTime: Milliseconds?, age: Milliseconds) -> MessageBase {
        if let relayTime {
            let relayTime = relayTime.asTime
            hear(relay: relayTime)
            return MessageBase(time: relayTime, clock: .relay)
        }
        let age = max(0, age)
        if isServerTimeKnown { return MessageBase(time: shared.minus(age).asTime, clock: .server) }
        return MessageBase(
            time: device.minus(age).asTime, clock: .device(run: run), wallLead: last.wall.minus(device),
            setAhead: setAhead)
    }

    /// A base by the clock that all share, for comparison with cuts; by this device's, as long as no other was heard.
    package func sharedTime(_ base: MessageBase) -> Milliseconds { convert(base.time, from: base.clock, to: .relay) }

    /// A deadline of one message as one of another message, as when that quotes it.
    package func convert(
        _ time: Milliseconds, from clock: MessageBase.Clock, to other: MessageBase.Clock
    ) -> Milliseconds {
        switch (clock.isDevice, other.isDevice) {
        case (true, false): time.plus(shared.minus(device)).asTime
        case (false, true): time.plus(device.minus(shared)).asTime
        case (true, true), (false, false): time
        }
    }

    // MARK: Readings

    /// Messages of a run, whose bases and deadlines are by the server's clock when this is added to them.
    ///
    /// Their clock is ``MessageBase/Clock/server`` then, and they have no lead any more.
    package struct Rebasing: Sendable, Hashable {
        package var run: Int64
        package var difference: Milliseconds
    }

    /// Goes on to a reading, before anything that depends on the time.
    ///
    /// - Returns: what the messages of this run are to be moved by, now that the server's time is known, in the
    ///   transaction that stores the clock (when that fails, go back to the former clock); `nil` mostly.
    @discardableResult
    package mutating func advance(to reading: Reading) -> Rebasing? {
        let reading = inOrder(reading)
        let onWall = reading.wall.minus(last.wall)
        if let elapsed = elapsed(to: reading) {
            device = device.plus(elapsed).asTime
            shared = shared.plus(elapsed).asTime
            let jump = onWall.minus(elapsed)
            let tolerance = Self.tolerance.plus(elapsed / 1000)
            agreed = (-tolerance...tolerance).contains(jump) ? agreed.plus(elapsed) : 0
            noteSetting(by: jump)
        } else {
            noteSetBack()
            run = run.plus(1)
            agreed = 0
            // Set back from now on, it is not known to be set right.
            setAheadInRun = 0
        }
        last = reading
        if agreed >= Self.agreement { settle() }
        return hear(reading)
    }

    /// Of two calls at once, the first to read the clocks can be the last to tell: that is no start of the device.
    ///
    /// - Returns: a reading that was taken before the last one, as it would be at the time of that.
    private func inOrder(_ reading: Reading) -> Reading {
        let late = last.continuous.minus(reading.continuous)
        guard late > 0, reading.boot != nil, reading.boot == last.boot,
            (-Self.tolerance...Self.tolerance).contains(last.wall.minus(reading.wall).minus(late))
        else { return reading }
        var present = last
        present.server = reading.server.map { $0.plus(late) }
        return present
    }

    /// - Returns: what has passed for certain; `nil` across a start of the device.
    private func elapsed(to reading: Reading) -> Milliseconds? {
        let elapsed = reading.continuous.minus(last.continuous)
        guard elapsed >= 0, reading.boot == last.boot else { return nil }
        guard reading.boot == nil else { return elapsed }
        // Two starts can look like one: the wall clock must agree.
        let difference = reading.wall.minus(last.wall).minus(elapsed)
        return (-Self.tolerance...Self.tolerance).contains(difference) ? elapsed : nil
    }

    /// The wall clock was set while the device was on: ahead, or back from where it was set to in the same run.
    private mutating func noteSetting(by jump: Milliseconds) {
        let ahead = max(0, setAheadInRun.plus(jump))
        setAhead = setAhead.plus(ahead.minus(setAheadInRun))
        setAheadInRun = ahead
        if isSharedTimeCertain { setBackInRun = setBackInRun.minus(jump) }
    }

    /// The device starts anew: what the wall clock was set back by in the run that has ended counts from now on.
    ///
    /// No more of it than what that clock lags by: the rest can have set it right after a start at which it was ahead.
    private mutating func noteSetBack() {
        let lag = shared.minus(restored.minus(sharedLead))
        setBack = restored.minus(last.wall).plus(max(0, min(lag, setBackInRun)))
        setBackInRun = 0
    }

    @discardableResult
    private mutating func hear(_ reading: Reading) -> Rebasing? {
        guard let server = reading.server?.asTime else { return nil }
        let isFirst = !isServerTimeKnown
        source = .server
        uncertainRun = nil
        heardRun = run
        (shared, settled) = (server, 0)
        (setBack, setBackInRun) = (0, 0)
        sharedLead = reading.wall.minus(server)
        (heardLead, steadyLead) = (sharedLead, steady.minus(server))
        return isFirst ? Rebasing(run: run, difference: shared.minus(device)) : nil
    }

    private mutating func hear(relay time: Milliseconds) {
        guard !isServerTimeKnown else { return }
        let (lead, steadyLead) = (restored.minus(time), steady.minus(time))
        guard source != .wall else {
            // Until the first one the wall clock stands for it, which may be ahead.
            source = .relay
            (shared, settled) = (time, 0)
            (sharedLead, heardLead, self.steadyLead) = (lead, lead, steadyLead)
            return
        }
        // The one that was least delayed tells best what the wall clock is ahead by.
        heardLead = min(heardLead, lead)
        self.steadyLead = min(self.steadyLead, steadyLead)
        guard settled > 0 else {
            shared = max(shared, time)
            sharedLead = min(sharedLead, lead)
            return
        }
        // What the wall clock alone has shown must not end what arrives now, when that clock shows it no more.
        (shared, settled, sharedLead) = (max(leastShared, time), 0, heardLead)
        if agreed >= Self.agreement { settle() }
    }

    /// Trusts the wall clock for the time that the device was off, as far as the difference cannot be an error of that
    /// clock.
    private mutating func settle() {
        if !isServerTimeKnown {
            let former = shared
            shared = max(shared, steady.minus(steadyLead).minus(Self.uncertainty)).asTime
            settled = settled.plus(shared.minus(former))
        }
        // Set back for good: what it gains from now on is unexplained again. What it was set back by in this run counts when
        // the device starts anew: until then the clock may be set right.
        sharedLead = min(sharedLead, restored.plus(max(0, setBackInRun)).minus(shared))
    }
}

extension RetentionClock {
    /// Records of former versions say nothing of settings of the wall clock, and count them as time that has passed.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        last = try values.decode(Reading.self, forKey: .last)
        device = try values.decode(Milliseconds.self, forKey: .device)
        shared = try values.decode(Milliseconds.self, forKey: .shared)
        source = try values.decode(Source.self, forKey: .source)
        sharedLead = try values.decode(Milliseconds.self, forKey: .sharedLead)
        heardLead = try values.decodeIfPresent(Milliseconds.self, forKey: .heardLead) ?? sharedLead
        steadyLead = try values.decodeIfPresent(Milliseconds.self, forKey: .steadyLead) ?? sharedLead
        settled = try values.decodeIfPresent(Milliseconds.self, forKey: .settled) ?? 0
        setAhead = try values.decodeIfPresent(Milliseconds.self, forKey: .setAhead) ?? 0
        setAheadInRun = try values.decodeIfPresent(Milliseconds.self, forKey: .setAheadInRun) ?? 0
        setBack = try values.decodeIfPresent(Milliseconds.self, forKey: .setBack) ?? 0
        setBackInRun = try values.decodeIfPresent(Milliseconds.self, forKey: .setBackInRun) ?? 0
        run = try values.decode(Int64.self, forKey: .run)
        heardRun = try values.decodeIfPresent(Int64.self, forKey: .heardRun)
        uncertainRun = try values.decodeIfPresent(Int64.self, forKey: .uncertainRun)
        agreed = try values.decode(Milliseconds.self, forKey: .agreed)
    }
}

extension MessageBase.Clock {
    package var isDevice: Bool { if case .device = self { true } else { false } }
}
