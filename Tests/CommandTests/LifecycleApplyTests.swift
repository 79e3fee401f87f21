import CloakroomAWS
import CloakroomOperations
import CloakroomServer
import Testing

@testable import CloakroomCommand

struct LifecycleApplyTests {
    @Test func `rules with the same names and other days are not those that were put`() {
        let former = LifecycleConfiguration(rules: LifecycleTerms(retentionDays: 30, noncurrentDays: 7).rules(.enabled))
        let plan = LifecyclePlan(
            former, .enabled, LifecycleTerms(retentionDays: 30, noncurrentDays: 3), replacesAll: false)
        #expect(Set(plan.target.rules.map(\.id)) == Set(former.rules.map(\.id)))
        #expect(!plan.isDone(in: former))
        #expect(plan.isDone(in: plan.target))
        let more = LifecycleConfiguration(rules: plan.target.rules + former.rules)
        #expect(!plan.isDone(in: more))
    }
}
