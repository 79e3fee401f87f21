import Testing

@testable import CloakroomMessages

/// A wall clock that was set back since the server was heard.
@Suite struct SetBackClockTests {
    private static let hour = Phone.hour
    private static let day = Milliseconds.day

    @Test func `time while the device was off hides also by a clock that was set back before that`() {
        var phone = Phone(hearsServer: true)
        phone.hearsServer = false
        phone.skew = -2 * Self.day
        phone.pass(Self.hour)
        let base = phone.clock.base(relayTime: nil, age: 0)
        #expect(base.clock == .server)
        for hours in 1...2 {
            phone.restart(after: Self.hour)
            #expect(phone.isHidden(base, limit: Milliseconds(hours) * Self.hour))
            #expect(!phone.isHidden(base, limit: Milliseconds(hours) * Self.hour + 1))
            #expect(!phone.isPurged(base, limit: Self.hour))
        }
        // Set right while the device is on, and back again: neither is time that has passed.
        for (number, skew) in [0, -2 * Self.day, 0].enumerated() {
            phone.skew = skew
            phone.pass(1000)
            let passed = 2 * Self.hour + Milliseconds(number + 1) * 1000
            #expect(phone.isHidden(base, limit: passed) && !phone.isHidden(base, limit: passed + 1), "\(number)")
        }
        phone.restart(after: Self.hour)
        #expect(phone.isHidden(base, limit: 3 * Self.hour + 3000))
        #expect(!phone.isHidden(base, limit: 3 * Self.hour + 3001))
    }

    @Test(arguments: [false, true])
    func `a clock that was set back for longer than a day, and right while on, hides nothing early`(restarts: Bool) {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        phone.skew = -2 * Self.day
        phone.pass(1000)
        for _ in 1...25 { phone.pass(Self.hour) }
        if restarts { phone.restart(after: 0) }
        phone.skew = 0
        phone.pass(1000)
        #expect(!phone.isHidden(base, limit: 25 * Self.hour + 2001))
        #expect(phone.isHidden(base, limit: 25 * Self.hour + 2000))
    }

    @Test func `a clock that was set back, and right while the device was off, hides early until the server is heard`()
    {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        phone.skew = -2 * Self.day
        phone.pass(Self.hour)
        phone.skew = 0
        phone.restart(after: Self.hour)
        #expect(phone.isHidden(base, limit: Self.day))
        #expect(!phone.isPurged(base, limit: Self.hour + 1))
        phone.hearsServer = true
        phone.pass(1000)
        #expect(!phone.isHidden(base, limit: Self.day))
    }

    @Test func `a clock that was set back, and right again before the device starts, hides nothing early`() {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        for skew in [-2 * Self.day, 0] {
            phone.skew = skew
            phone.pass(1000)
        }
        phone.restart(after: 1000)
        #expect(!phone.isHidden(base, limit: 3001))
        #expect(phone.isHidden(base, limit: 3000))
    }

    @Test(arguments: [false, true]) func `a clock that was behind at a start, and is right since, hides nothing early`(
        isSetWhileOn: Bool
    ) {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        phone.skew = -10 * Self.day
        phone.restart(after: Self.hour)
        phone.pass(60_000)
        phone.skew = 0
        if isSetWhileOn { phone.pass(0) }
        phone.restart(after: Self.hour)
        #expect(phone.isHidden(base, limit: 2 * Self.hour + 60_000))
        #expect(!phone.isHidden(base, limit: 2 * Self.hour + 60_001))
        _ = phone.clock.base(relayTime: phone.truth, age: 0)
        #expect(!phone.isHidden(base, limit: 2 * Self.hour + 60_001))
    }

    @Test func `a clock that was ahead at a start, and is set right, hides nothing early after the next one`() {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        for run in 1...3 {
            phone.skew = 10 * Self.day
            phone.restart(after: Self.hour)
            phone.skew = 0
            phone.pass(1000)
            #expect(!phone.isHidden(base, limit: Milliseconds(run) * (Self.hour + 1000) + 1))
        }
        phone.restart(after: Self.hour)
        #expect(!phone.isHidden(base, limit: 4 * Self.hour + 3001))
    }

    @Test func `what a clock was set back by hides nothing early when the device had been off before`() {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        phone.restart(after: 8 * Self.hour)
        phone.skew = -6 * Self.hour
        phone.pass(60_000)
        phone.restart(after: Self.hour)
        #expect(!phone.isHidden(base, limit: 9 * Self.hour + 60_001))
        // By more than that it can only have been set back.
        phone.skew = -36 * Self.hour
        phone.pass(60_000)
        phone.restart(after: 30 * Self.hour)
        #expect(phone.isHidden(base, limit: 30 * Self.hour + 120_000))
        #expect(!phone.isHidden(base, limit: 39 * Self.hour + 120_001))
    }

    @Test func `a relay's time takes back nothing of what a clock was set back by`() {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        phone.skew = -36 * Self.hour
        phone.pass(60_000)
        phone.restart(after: 10 * Self.day)
        for _ in 0..<25 { phone.pass(Self.hour) }
        #expect(phone.clock.leastShared < phone.clock.shared)
        // One that was long on its way.
        _ = phone.clock.base(relayTime: phone.truth - 30 * Self.hour, age: 0)
        #expect(phone.clock.leastShared == phone.clock.shared)
        let passed = 10 * Self.day + 25 * Self.hour + 60_000
        #expect(phone.isHidden(base, limit: passed))
        #expect(!phone.isHidden(base, limit: passed + 1))
    }

    @Test func `a clock that was set back before a relay was heard is not counted twice`() {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        phone.restart(after: Self.hour)
        phone.skew = -36 * Self.hour
        phone.pass(1000)
        _ = phone.clock.base(relayTime: phone.truth, age: 0)
        for starts in 1...2 {
            phone.restart(after: 5 * Self.hour)
            let passed = Milliseconds(1 + 5 * starts) * Self.hour + 1000
            #expect(phone.isHidden(base, limit: passed) && !phone.isHidden(base, limit: passed + 1), "\(starts)")
        }
    }

    @Test func `a record of the version that knew of no setting back counts what follows`() throws {
        var phone = Phone(hearsServer: true)
        let base = phone.clock.base(relayTime: nil, age: 0)
        phone.hearsServer = false
        try phone.readRecord(without: ["setBack", "setBackInRun"])
        phone.skew = -36 * Self.hour
        phone.pass(1000)
        phone.restart(after: Self.hour)
        #expect(phone.isHidden(base, limit: Self.hour + 1000))
        #expect(!phone.isHidden(base, limit: Self.hour + 1001))
    }
}
