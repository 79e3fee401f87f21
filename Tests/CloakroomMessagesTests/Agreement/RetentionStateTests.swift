import Testing

@testable import CloakroomMessages

@Suite struct RetentionStateTests {
    private let (a, b, c): (ParticipantID, ParticipantID, ParticipantID)

    init() throws {
        a = try #require(ParticipantID(rawValue: "a"))
        b = try #require(ParticipantID(rawValue: "b"))
        c = try #require(ParticipantID(rawValue: "c"))
    }

    private func state(_ policies: [ParticipantID: MessageRetentionPolicy]) -> RetentionState {
        RetentionState(registers: policies.mapValues { RetentionRegister(policy: $0) })
    }

    private func effective(_ state: RetentionState, _ limits: RetentionLimits = .init()) -> MessageRetentionPolicy {
        state.agreement(reader: a, members: [a, b, c], limits: limits).effective
    }

    @Test func `the strictest of the members holds`() {
        #expect(effective(state([a: .keep, b: .oneDay, c: .oneHour])) == .oneHour)
        #expect(effective(state([a: .noStorage, b: .oneDay, c: .oneHour])) == .noStorage)
    }

    @Test func `who has sent nothing does not count, and is unconfirmed`() {
        let agreement = state([a: .keep, b: .oneDay]).agreement(reader: a, members: [a, b, c], limits: .init())
        #expect(agreement.effective == .oneDay)
        #expect(agreement.peers == [b: .oneDay, c: nil])
        #expect(!agreement.isConfirmed)
    }

    @Test func `who has left does not count for new messages`() {
        let state = state([a: .keep, b: .oneDay, c: .oneHour])
        let agreement = state.agreement(reader: a, members: [a, b], limits: .init())
        #expect(agreement.effective == .oneDay)
        #expect(agreement.peers == [b: .oneDay])
    }

    @Test func `a later version is unconfirmed, and what was understood last still counts`() {
        var state = state([a: .keep, b: .oneHour])
        state.laterVersions.insert(b)
        let agreement = state.agreement(reader: a, members: [b], limits: .init())
        #expect(agreement.peers == [b: nil])
        #expect(agreement.effective == .oneHour)
        #expect(RetentionState().joined(state).laterVersions == [b])
    }

    @Test func `peers cannot go below the device's minimum, and its user can`() throws {
        let limits = RetentionLimits(minimumForPeers: .milliseconds(3_599_001))
        #expect(effective(state([a: .keep, b: .noStorage]), limits) == .oneHour)
        #expect(effective(state([a: .noStorage, b: .keep]), limits) == .noStorage)
        #expect(effective(state([a: .keep, b: .oneDay]), limits) == .oneDay)
    }

    @Test func `nothing is kept longer than the device's maximum`() {
        #expect(effective(state([a: .keep]), RetentionLimits(maximum: .seconds(3600))) == .oneHour)
        #expect(
            effective(state([a: .keep]), RetentionLimits(minimumForPeers: .seconds(86_400), maximum: .seconds(3600)))
                == .oneHour)
        #expect(effective(state([a: .keep]), RetentionLimits(maximum: .seconds(-1))) == .noStorage)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .seconds(500 * 86_400), .zero])
    func `limits of any size are policies`(limit: Duration) {
        let limits = RetentionLimits(minimumForPeers: limit, maximum: limit)
        let policies = [limits.shortestForPeers, limits.longest]
        #expect(
            policies.allSatisfy { $0.afterSent.map { (.zero...MessageRetentionPolicy.longest).contains($0) } ?? false })
    }

    @Test func `joining says whether there was anything new`() {
        var state = state([a: .oneDay])
        let changes =
            [(a, .oneDay), (a, .oneHour), (a, .oneDay), (b, .oneDay)] as [(ParticipantID, MessageRetentionPolicy)]
        let isNew = changes.map { state.join(RetentionRegister(policy: $0.1), of: $0.0) }
        #expect(isNew == [false, true, false, true])
    }
}
