import Foundation
import Testing

@testable import CloakroomMessages

@Suite struct RetentionClockTests {
    private static let hour = Phone.hour
    private static let day = Milliseconds.day

    @Test func `a reading that arrives after a later one is no start of the device`() {
        var phone = Phone(skew: Self.day)
        phone.pass(Self.hour)
        let early = phone.reading
        phone.pass(5)
        // Two calls at once: the first to read is the second to be heard.
        phone.clock.advance(to: early)
        #expect(phone.clock.run == 0)
        phone.pass(Self.hour)
        #expect(phone.clock.agreed == 2 * Self.hour + 5)
        #expect(phone.clock.device == Phone.beginning + Self.day + 2 * Self.hour + 5)
        let late = RetentionClock.Reading(
            wall: phone.reading.wall - 7, continuous: phone.reading.continuous - 7, boot: "0", server: phone.truth - 7)
        #expect(phone.clock.advance(to: late)?.run == 0)
        #expect(phone.clock.isServerTimeKnown)
        #expect(phone.clock.shared == phone.truth)
    }

    @Test(arguments: [-Milliseconds.day, 0, .day], [nil, Phone.beginning] as [Milliseconds?])
    func `a message lives for its time, whatever the wall clock shows`(skew: Milliseconds, relayTime: Milliseconds?) {
        var phone = Phone(skew: skew)
        let base = phone.clock.base(relayTime: relayTime, age: 0)
        phone.pass(Self.hour - 1)
        #expect(!phone.isHidden(base, limit: Self.hour))
        #expect(!phone.isPurged(base, limit: Self.hour))
        phone.pass(1)
        #expect(phone.isHidden(base, limit: Self.hour))
        #expect(phone.isPurged(base, limit: Self.hour))
    }

    @Test func `the age of a message counts, and no age makes it newer`() {
        var phone = Phone(hearsServer: true)
        #expect(phone.clock.base(relayTime: nil, age: 500) == .init(time: Phone.beginning - 500, clock: .server))
        #expect(phone.clock.base(relayTime: nil, age: -500) == .init(time: Phone.beginning, clock: .server))
        #expect(phone.clock.base(relayTime: nil, age: .max).time == 0)
    }

    @Test func `a jump forward hides at once and purges nothing, and going back shows again`() {
        var phone = Phone()
        let (own, relayed) = (
            phone.clock.base(relayTime: nil, age: 0), phone.clock.base(relayTime: Phone.beginning, age: 0)
        )
        for base in [own, relayed] {
            phone.skew = Self.day
            phone.pass(1000)
            #expect(phone.isHidden(base, limit: Self.hour))
            #expect(!phone.isPurged(base, limit: Self.hour))
            phone.skew = 0
            phone.pass(1000)
            #expect(!phone.isHidden(base, limit: Self.hour))
        }
    }

    @Test(arguments: [nil, Phone.beginning] as [Milliseconds?])
    func `a jump while the device is on never counts, in this run and in later ones`(relayTime: Milliseconds?) {
        var phone = Phone()
        let base = phone.clock.base(relayTime: relayTime, age: 0)
        phone.restart(after: 60_000)
        phone.skew = 365 * Self.day
        phone.pass(1000)
        let later = phone.clock.base(relayTime: nil, age: 0)
        for _ in 0..<2 {
            phone.pass(Self.day)
            #expect(phone.isHidden(base, limit: 7 * Self.day) && !phone.isPurged(base, limit: 7 * Self.day))
            phone.restart(after: 60_000)
        }
        phone.pass(Self.day)
        #expect(!phone.isPurged(base, limit: 7 * Self.day) && !phone.isPurged(later, limit: 7 * Self.day))
        #expect(!phone.isHidden(later, limit: 7 * Self.day))
        // What passes counts as before.
        phone.pass(4 * Self.day)
        #expect(phone.isPurged(base, limit: 7 * Self.day) && phone.isPurged(later, limit: 7 * Self.day))
    }

    @Test(arguments: [nil, Phone.beginning] as [Milliseconds?])
    func `time while the device was off counts though the clock was set to and fro since`(relayTime: Milliseconds?) {
        var phone = Phone()
        let base = phone.clock.base(relayTime: relayTime, age: 0)
        phone.restart(after: 10 * Self.day)
        for skew in [365 * Self.day, 0] {
            phone.skew = skew
            phone.pass(1000)
        }
        phone.pass(Self.day)
        #expect(phone.isPurged(base, limit: 9 * Self.day))
        #expect(!phone.isPurged(base, limit: 10 * Self.day))
    }

    @Test(arguments: [nil, Phone.beginning] as [Milliseconds?])
    func `a clock that was ahead at a start and is set right counts for nothing`(relayTime: Milliseconds?) {
        var phone = Phone()
        let base = phone.clock.base(relayTime: relayTime, age: 0)
        phone.skew = 365 * Self.day
        phone.restart(after: 1000)
        phone.skew = 0
        phone.pass(1000)
        phone.pass(Self.day)
        #expect(!phone.isPurged(base, limit: 2 * Self.day))
        #expect(!phone.isHidden(base, limit: 2 * Self.day))
    }

    @Test func `a clock that goes to and fro within a day, on and off, adds up to no time`() {
        var phone = Phone(skew: -Self.day)
        let base = phone.clock.base(relayTime: Phone.beginning, age: 0)
        var own: [MessageBase] = []
        // Each time it is set ahead while the device is on, and back while that is off.
        for _ in 0..<4 {
            phone.skew = Self.day
            phone.pass(1000)
            own.append(phone.clock.base(relayTime: nil, age: 0))
            phone.skew = -Self.day
            phone.restart(after: 2 * Self.day)
        }
        // And then the other way round.
        for _ in 0..<4 {
            phone.skew = Self.day
            phone.restart(after: 1000)
            phone.skew = -Self.day
            phone.pass(1000)
        }
        phone.pass(Self.day)
        // Nine days and some seconds have passed.
        #expect(!phone.isPurged(base, limit: 10 * Self.day))
        for (number, base) in own.enumerated() {
            #expect(!phone.isPurged(base, limit: Milliseconds(10 - 2 * number) * Self.day), "\(number)")
        }
    }

    @Test func `a message that arrives after a jump is shown for its time`() {
        var phone = Phone()
        phone.skew = Self.day
        phone.pass(1000)
        let base = phone.clock.base(relayTime: nil, age: 0)
        #expect(!phone.isHidden(base, limit: Self.hour))
        phone.pass(Self.hour)
        #expect(phone.isPurged(base, limit: Self.hour))
    }

    @Test(arguments: [nil, Phone.beginning] as [Milliseconds?])
    func `time while the device was off hides, and counts after a day of agreement, less two days`(
        relayTime: Milliseconds?
    ) {
        var phone = Phone()
        let base = phone.clock.base(relayTime: relayTime, age: 0)
        phone.restart(after: 10 * Self.day)
        #expect(phone.isHidden(base, limit: 7 * Self.day))
        #expect(!phone.isPurged(base, limit: 7 * Self.day))
        phone.pass(Self.day - 1000)
        #expect(!phone.isPurged(base, limit: 7 * Self.day))
        phone.pass(1000)
        #expect(phone.isPurged(base, limit: 7 * Self.day))
        // 11 days have passed; two of them may be an error.
        #expect(phone.isPurged(base, limit: 9 * Self.day))
        #expect(!phone.isPurged(base, limit: 9 * Self.day + 1))
        // What arrives now is not older than it is.
        let later = phone.clock.base(relayTime: nil, age: 0)
        #expect(!phone.isPurged(later, limit: Self.hour))
        #expect(!phone.isHidden(later, limit: Self.hour))
    }

    @Test func `a clock between a day slow and a day fast purges nothing early`() {
        var phone = Phone(skew: -Self.day)
        let bases = [
            phone.clock.base(relayTime: nil, age: 0), phone.clock.base(relayTime: Phone.beginning, age: 0),
        ]
        phone.restart(after: 1000)
        phone.skew = Self.day
        phone.pass(1000)
        for _ in 0..<30 { phone.pass(Self.hour) }
        #expect(bases.allSatisfy { !phone.isPurged($0, limit: 31 * Self.hour) })
    }

    @Test func `agreement begins anew with each jump`() {
        var phone = Phone()
        let base = phone.clock.base(relayTime: Phone.beginning, age: 0)
        phone.restart(after: 10 * Self.day)
        phone.pass(Self.day - 1000)
        phone.skew = Self.hour
        phone.pass(2000)
        #expect(!phone.isPurged(base, limit: 7 * Self.day))
        phone.pass(Self.day)
        #expect(phone.isPurged(base, limit: 7 * Self.day))
    }

    @Test func `setting the clock back does not give time back`() throws {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        phone.pass(Self.hour)
        phone.skew = -Self.day
        // As after a process has ended.
        phone.clock = try JSONDecoder().decode(RetentionClock.self, from: JSONEncoder().encode(phone.clock))
        phone.restart(after: 1000)
        #expect(phone.isPurged(base, limit: Self.hour))
        #expect(phone.isHidden(base, limit: Self.hour))
    }

    @Test func `the server's time explains what has passed while the device was off`() {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        phone.restart(after: 8 * Self.day)
        #expect(!phone.isPurged(base, limit: 7 * Self.day))
        #expect(!phone.clock.isServerTimeKnown)
        phone.hearsServer = true
        phone.pass(1000)
        #expect(phone.clock.isServerTimeKnown)
        #expect(phone.isPurged(base, limit: 7 * Self.day))
    }

    @Test(arguments: [-Milliseconds.day, .day])
    func `messages from before the server was heard live for their time afterwards`(skew: Milliseconds) throws {
        var phone = Phone(skew: skew)
        phone.pass(Self.hour)
        let base = phone.clock.base(relayTime: nil, age: 0)
        #expect(base == MessageBase(time: phone.truth + skew, clock: .device(run: 0), wallLead: 0))
        phone.pass(Self.hour / 2)
        phone.hearsServer = true
        phone.pass(0)
        let rebasing = try #require(phone.rebasings.first)
        #expect(rebasing == .init(run: 0, difference: -skew))
        let moved = MessageBase(time: base.time + rebasing.difference, clock: .server)
        #expect(!phone.isPurged(moved, limit: Self.hour))
        phone.pass(Self.hour / 2)
        #expect(phone.isPurged(moved, limit: Self.hour))
        #expect(phone.rebasings.count == 1)
    }

    @Test func `the relay's time is no later than now, and does not come early by a fast wall clock`() {
        var phone = Phone(skew: Self.day)
        let base = phone.clock.base(relayTime: Phone.beginning - 1000, age: 0)
        #expect(base.clock == .relay)
        #expect(phone.clock.trusted.shared == Phone.beginning - 1000)
        _ = phone.clock.base(relayTime: Phone.beginning, age: 0)
        #expect(phone.clock.trusted.shared == Phone.beginning)
        _ = phone.clock.base(relayTime: Phone.beginning - 5000, age: 0)
        #expect(phone.clock.trusted.shared == Phone.beginning)
    }

    @Test func `a relay's time takes back what the wall clock alone has shown, as far as that shows it no more`() {
        var phone = Phone()
        _ = phone.clock.base(relayTime: Phone.beginning, age: 0)
        phone.restart(after: 10 * Self.day)
        phone.pass(Self.day)
        #expect(phone.clock.shared == phone.truth - 2 * Self.day)
        #expect(phone.clock.leastShared == Phone.beginning + Self.day)
        // One that was long on its way says nothing new.
        _ = phone.clock.base(relayTime: phone.truth - 5 * Self.day, age: 0)
        #expect(phone.clock.shared == phone.truth - 2 * Self.day)
        phone.skew = -10 * Self.day
        phone.pass(1000)
        #expect(phone.clock.shared == phone.truth - 2 * Self.day)
        _ = phone.clock.base(relayTime: phone.truth - 3 * Self.day, age: 0)
        #expect(phone.clock.shared == phone.truth - 3 * Self.day)
        #expect(phone.clock.leastShared == phone.clock.shared)
        _ = phone.clock.base(relayTime: phone.truth, age: 0)
        #expect(phone.clock.shared == phone.truth)
    }

    @Test func `once the server is heard, no relay's time moves the clock`() {
        var phone = Phone(hearsServer: true)
        _ = phone.clock.base(relayTime: Phone.beginning + Self.day, age: 0)
        #expect(phone.clock.trusted.shared == Phone.beginning)
    }

    @Test func `a system that does not tell its starts is one that started, unless the clocks agree`() {
        var phone = Phone()
        let first = RetentionClock.Reading(wall: Phone.beginning, continuous: 1000, boot: nil)
        phone.clock = RetentionClock(at: first)
        phone.clock.advance(to: .init(wall: first.wall + 5000, continuous: 6000, boot: nil))
        #expect(phone.clock.run == 0)
        #expect(phone.clock.device == first.wall + 5000)
        phone.clock.advance(to: .init(wall: first.wall + 15_000, continuous: 6500, boot: nil))
        #expect(phone.clock.run == 1)
        #expect(phone.clock.device == first.wall + 5000)
        phone.clock.advance(to: .init(wall: first.wall + 15_100, continuous: 10, boot: nil))
        #expect(phone.clock.run == 2)
    }

    @Test func `deadlines of one clock are the same moments by another one`() {
        var phone = Phone(skew: Self.day)
        let base = phone.clock.base(relayTime: nil, age: 0)
        _ = phone.clock.base(relayTime: Phone.beginning, age: 0)
        #expect(phone.clock.sharedTime(base) == Phone.beginning)
        #expect(phone.clock.convert(Phone.beginning + 5, from: .relay, to: base.clock) == base.time + 5)
        #expect(phone.clock.convert(7, from: .relay, to: .server) == 7)
    }

    @Test func `a timer waits as long as something has left`() {
        var phone = Phone()
        let base = phone.clock.base(relayTime: nil, age: 0)
        let deadline = base.time + Self.hour
        #expect(phone.clock.trusted.remaining(until: deadline, base: base) == Self.hour)
        phone.pass(2 * Self.hour)
        #expect(phone.clock.trusted.remaining(until: deadline, base: base) == 0)
        #expect(phone.clock.trusted.remaining(until: nil, base: base) == nil)
    }

    /// The rest of each record is that of a clock that has heard no server.
    @Test(arguments: [
        ("device", -1), ("shared", -1), ("run", -1), ("agreed", -1), ("heardRun", 1), ("settled", -1), ("setAhead", -1),
        ("setAheadInRun", 1), ("setBack", -1),
    ])
    func `a record that no clock can have come to is not taken for one`(member: String, value: Int) throws {
        let clock = RetentionClock(at: .init(wall: Phone.beginning, continuous: 1, boot: "0"))
        #expect(clock.isPossible)
        let written = try JSONSerialization.jsonObject(with: JSONEncoder().encode(clock))
        var record = try #require(written as? [String: Any])
        record[member] = value
        let read = try JSONDecoder().decode(
            RetentionClock.self, from: JSONSerialization.data(withJSONObject: record))
        #expect(!read.isPossible)
    }

    @Test func `a record of the version that knew nothing of settings goes on where it was`() throws {
        var phone = Phone(skew: Self.day)
        let base = phone.clock.base(relayTime: Phone.beginning, age: 0)
        phone.pass(Self.hour)
        try phone.readRecord(
            without: [
                "heardLead", "steadyLead", "settled", "setAhead", "setAheadInRun", "setBack", "setBackInRun",
            ])
        phone.restart(after: 10 * Self.day)
        phone.pass(Self.day)
        #expect(phone.isPurged(base, limit: 9 * Self.day))
    }

    @Test(arguments: 0..<200) func `no reading traps`(seed: Int) {
        let values: [Int64] = [.min, .min + 1, -1, 0, 1, 1000, .day, Phone.beginning, .latestTime, .max - 1, .max]
        var generator = SystemRandomNumberGenerator()
        func value() -> Int64 { values.randomElement(using: &generator) ?? 0 }
        func reading() -> RetentionClock.Reading {
            let boot = ["0", "1", nil].randomElement(using: &generator) ?? nil
            return .init(wall: value(), continuous: value(), boot: boot, server: Bool.random() ? value() : nil)
        }
        var clock = RetentionClock(at: reading())
        for _ in 0..<50 {
            let device = clock.device
            clock.advance(to: reading())
            #expect(clock.device >= device)
            let base = clock.base(relayTime: Bool.random() ? value() : nil, age: value())
            #expect((0...Milliseconds.latestTime).contains(base.time))
            for times in [clock.plausible, clock.trusted] {
                _ = times.isDue(value(), base: base)
                #expect((times.remaining(until: value(), base: base) ?? 0) >= 0)
            }
            _ = clock.sharedTime(base)
        }
    }
}
