import Testing

@testable import CloakroomMessages

@Suite struct DeadlineSlotTests {
    private static let widths: [(MessageRetentionPolicy, Int64)] = [
        (.noStorage, 60), (.oneHour, 225), (.oneDay, 5400), (.oneWeek, 37_800), (.keep, 2_592_000),
        (.seconds(959), 60), (.seconds(960), 60), (.seconds(3599), 112), (.seconds(31_536_000), 1_971_000),
    ]

    @Test(arguments: widths)
    func `a span is a sixteenth of the policy, a minute at least and 30 days at most`(
        policy: MessageRetentionPolicy, width: Int64
    ) {
        #expect(DeadlineSlot.width(of: policy) == width)
    }

    @Test func `no span is longer than a sixteenth of its policy, nor shorter than half of it`() {
        for seconds in stride(from: Int64(960), through: 31_536_000, by: 997) {
            let width = DeadlineSlot.width(of: .seconds(seconds))
            #expect(width * 16 <= seconds && width * 32 > seconds)
        }
    }

    @Test func `a slot ends at the deadline or later, by less than its span`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let policy = MessageRetentionPolicy.seconds(.random(in: 0...31_536_000, using: &generator))
            let deadline = Int64.random(in: -1_000_000_000_000...9_000_000_000_000, using: &generator)
            let late = DeadlineSlot(of: deadline, policy: policy).rawValue * 1000 - deadline
            #expect(late >= 0 && late < DeadlineSlot.width(of: policy) * 1000, "\(deadline), \(policy)")
        }
    }

    @Test func `one policy has some seventeen live slots, and a new one only as time passes`() {
        let slots = (0...3600).map { DeadlineSlot(of: (1_790_000_000 + $0) * 1000, policy: .oneHour) }
        #expect(Set(slots).count <= 17)
        #expect(slots == slots.sorted())
    }

    @Test func `a peer who stamps each message with a duration of its own makes few slots`() {
        var generator = SystemRandomNumberGenerator()
        let slots = (0..<50_000).map { _ in
            let seconds = Int64.random(in: 0...31_536_000, using: &generator)
            return DeadlineSlot(of: (1_790_000_000 + seconds) * 1000, policy: .seconds(seconds))
        }
        #expect(Set(slots).count < 600)
    }

    @Test func `messages without a deadline have a slot of their own, and none is out of range`() {
        #expect(DeadlineSlot(of: nil, policy: .oneHour) == .endless)
        #expect(DeadlineSlot(of: .max, policy: .keep) < .endless)
        #expect(DeadlineSlot(of: .min, policy: .keep) < DeadlineSlot(of: 0, policy: .keep))
        #expect(DeadlineSlot(of: 60_000, policy: .noStorage).rawValue == 60)
        #expect(DeadlineSlot(of: 60_001, policy: .noStorage).rawValue == 120)
    }
}

extension MessageRetentionPolicy {
    fileprivate static func seconds(_ seconds: Int64) -> Self {
        Self(afterSent: .seconds(seconds)) ?? .noStorage
    }
}
