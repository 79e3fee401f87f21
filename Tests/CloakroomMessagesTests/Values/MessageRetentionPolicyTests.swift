import CloakroomMessages
import Testing

@Suite struct MessageRetentionPolicyTests {
    @Test func `the stricter of two is the shorter, and no limit is the longest`() {
        #expect(MessageRetentionPolicy.oneDay.stricter(.oneHour) == .oneHour)
        #expect(MessageRetentionPolicy.oneDay.stricter(.keep) == .oneDay)
        #expect(MessageRetentionPolicy.keep.stricter(.noStorage) == .noStorage)
    }

    @Test(arguments: [Duration.seconds(-1), .milliseconds(1500), .seconds(31_536_001)])
    func `a duration that cannot be sent is none`(duration: Duration) {
        #expect(MessageRetentionPolicy(afterSent: duration) == nil)
    }
}
