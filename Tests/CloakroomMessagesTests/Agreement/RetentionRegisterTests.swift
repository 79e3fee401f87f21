import Testing

@testable import CloakroomMessageModel
@testable import CloakroomMessages

@Suite struct RetentionRegisterTests {
    private func register(
        _ number: Int64, _ policy: MessageRetentionPolicy, _ cuts: RetentionCuts = .init()
    ) throws -> RetentionRegister {
        RetentionRegister(version: try #require(RegisterVersion(number)), policy: policy, cuts: cuts)
    }

    @Test func `the higher version wins, also when it is looser`() throws {
        let (low, high) = (try register(3, .noStorage), try register(4, .keep))
        #expect(low.joined(high) == high)
        #expect(high.joined(low) == high)
    }

    @Test func `of the same version the stricter policy wins`() throws {
        #expect(try register(3, .oneDay).joined(try register(3, .oneHour)).policy == .oneHour)
        #expect(try register(3, .keep).joined(try register(3, .noStorage)).policy == .noStorage)
    }

    @Test func `the cuts of a lower version still bind`() throws {
        let cuts = (RetentionCuts(.oneHour, before: 100), RetentionCuts(.oneDay, before: 200))
        let joined = try register(3, .oneHour, cuts.0).joined(try register(4, .oneDay, cuts.1))
        #expect(joined.policy == .oneDay)
        #expect(joined.cuts == cuts.0.joined(cuts.1))
        #expect(joined.cuts.all.count == 2)
    }

    @Test func `messages of the first app are ordered by their time, and every other version wins over them`() throws {
        let old = RetentionRegister(version: RegisterVersion(legacyTime: 5), policy: .noStorage)
        let newer = RetentionRegister(version: RegisterVersion(legacyTime: 6), policy: .oneDay)
        #expect(old.joined(newer) == newer)
        #expect(newer.joined(old) == newer)
        #expect(newer.joined(try register(1, .keep)).policy == .keep)
    }

    @Test(arguments: [Int64.min, -1, 0, 1 << 53, .max]) func `a number that cannot be sent is no version`(number: Int64)
    {
        #expect(RegisterVersion(number) == nil)
    }

    @Test func `a change has the next version, and none follows the last`() throws {
        let changed = try #require(
            try register(6, .oneDay).changed(to: .keep, applyingTo: .newMessages, newestBase: 50, at: 99))
        #expect(changed == (try register(7, .keep)))
        let last = try register(RegisterVersion.last, .oneDay)
        #expect(last.changed(to: .keep, applyingTo: .newMessages, newestBase: nil, at: 99) == nil)
    }

    @Test func `the first change on a device is after all that peers may know, and leaves room behind it`() throws {
        let time: Milliseconds = 1_800_000_000_000
        let first = try #require(
            RetentionRegister(policy: .noStorage).changed(
                to: .keep, applyingTo: .newMessages, newestBase: nil, at: time))
        #expect(first.version == RegisterVersion(time))
        let second = try #require(first.changed(to: .oneDay, applyingTo: .newMessages, newestBase: nil, at: time + 9))
        #expect(second.version == RegisterVersion(time + 1))
        // The same user's, erased since: a second later.
        let anew = try #require(
            RetentionRegister(policy: .noStorage).changed(
                to: .oneWeek, applyingTo: .newMessages, newestBase: nil, at: time + 1000))
        #expect(second.joined(anew) == anew)
        let ahead = try #require(
            RetentionRegister(policy: .noStorage).changed(
                to: .keep, applyingTo: .newMessages, newestBase: nil, at: .max))
        #expect(ahead.version == RegisterVersion(1 << 52))
        let early = try #require(
            RetentionRegister(policy: .noStorage).changed(to: .keep, applyingTo: .newMessages, newestBase: nil, at: 0))
        #expect(early.version == RegisterVersion(2))
    }

    @Test func `a change for the history reaches back from the newest message, and never from a clock`() throws {
        let own = try register(1, .oneDay)
        let changed = try #require(own.changed(to: .oneHour, applyingTo: .history, newestBase: 50, at: 99))
        #expect(changed.cuts == RetentionCuts(.oneHour, before: 51))
        let alone = try #require(own.changed(to: .oneHour, applyingTo: .history, newestBase: nil, at: 99))
        #expect(alone.cuts.isEmpty)
        let kept = try #require(own.changed(to: .keep, applyingTo: .history, newestBase: 50, at: 99))
        #expect(kept.cuts.isEmpty)
    }
}

@Suite struct RetentionCutsTests {
    @Test func `there are 16 durations, from nothing to the longest policy`() {
        #expect(RetentionCuts.durations.count == 16)
        #expect(RetentionCuts.durations == RetentionCuts.durations.sorted())
        #expect(RetentionCuts.durations.first == 0)
        #expect(RetentionCuts.durations.last == MessageRetentionPolicy.longest.components.seconds)
    }

    @Test func `a policy reaches back as the next shorter duration`() throws {
        let policy = try #require(MessageRetentionPolicy(afterSent: .seconds(3599)))
        #expect(RetentionCuts.duration(of: policy) == 1_800_000)
        #expect(RetentionCuts(policy, before: 9).limit(at: 8) == 1_800_000)
        #expect(RetentionCuts.duration(of: .keep) == nil)
    }

    @Test func `a cut binds what was sent before it, by the shortest that does`() {
        let cuts = RetentionCuts(.oneHour, before: 100).joined(RetentionCuts(.oneDay, before: 200))
        #expect(cuts.limit(at: 99) == 3_600_000)
        #expect(cuts.limit(at: 100) == 86_400_000)
        #expect(cuts.limit(at: 200) == nil)
        #expect(cuts.latest == 200)
    }

    @Test func `the later time of each duration binds`() {
        let joined = RetentionCuts(.oneHour, before: 100).joined(RetentionCuts(.oneHour, before: 90))
        #expect(joined == RetentionCuts(.oneHour, before: 100))
    }

    @Test func `a cut of another duration is not added`() {
        var cuts = RetentionCuts()
        let isAdded = cuts.add(.init(seconds: 3601, before: 5))
        #expect(!isAdded)
        #expect(cuts.isEmpty)
    }
}

@Suite struct RetentionLawTests {
    @Test(arguments: [UInt64(16), .random(in: 0...999_999_999)])
    func `joins commute, associate, and change nothing the second time`(seed: UInt64) {
        #expect(Laws.firstBroken(cases: 1500, seed: seed) == nil)
    }

    /// Other devices count by them: another list would be another wire.
    @Test func `cuts are of sixteen durations`() {
        let (minute, hour, day): (Int64, Int64, Int64) = (60, 3_600, 86_400)
        #expect(
            RetentionCuts.durations == [
                0, 30, 5 * minute, 30 * minute, hour, 4 * hour, 8 * hour, day, 3 * day, 7 * day, 14 * day, 28 * day,
                30 * day, 90 * day, 180 * day, 365 * day,
            ])
    }
}
