import CloakroomKit
import Synchronization

@testable import CloakroomMessages

/// A retention that does what a test tells it, and waits where it is told to.
final class ScriptedRetention: RetentionControlling {
    struct Script: Sendable {
        var own = MessageRetentionPolicy.keep
        var peers: [ParticipantID: MessageRetentionPolicy?] = [:]
        var effective = MessageRetentionPolicy.keep
        /// What any policy would end.
        var impact = 0
        var messageCount = 0
        var arrivedExpired = 0
        var losses: Set<SQLiteMessageStorage.Loss> = []
        var report = PurgeReport()
        var failure: CloakroomError?
    }

    let participant: ParticipantID
    let limits: RetentionLimits
    private let contents: Mutex<(script: Script, calls: [String], messages: [RetentionPolicyMessage])>
    /// Where calls wait, by their names.
    let gates: [String: CallGate]

    init(
        _ script: Script, of participant: ParticipantID, limits: RetentionLimits = RetentionLimits(),
        gates: [String: CallGate] = [:]
    ) {
        (self.participant, self.limits, self.gates) = (participant, limits, gates)
        contents = Mutex((script, [], []))
    }

    /// What was called, in its order.
    var calls: [String] { contents.withLock { $0.calls } }
    /// What was sent, in its order.
    var sent: [RetentionPolicyMessage] { contents.withLock { $0.messages } }
    func change(_ change: @Sendable (inout Script) -> Void) { contents.withLock { change(&$0.script) } }

    /// What participants get.
    func send(_ message: RetentionPolicyMessage) async throws {
        _ = try await called("send")
        contents.withLock { $0.messages.append(message) }
    }

    /// As things are when it is called; returned once its gate is open.
    private func called(_ call: String, _ gate: String? = nil) async throws -> Script {
        let script = contents.withLock { contents in
            contents.calls.append(call)
            return contents.script
        }
        await gates[gate ?? call]?.pass()
        if let failure = script.failure { throw failure }
        return script
    }

    func agreement(in conversation: ConversationID) async throws -> RetentionAgreement {
        let script = try await called("agreement")
        return RetentionAgreement(own: script.own, peers: script.peers, effective: script.effective)
    }

    func arrivedExpiredCount(in conversation: ConversationID) async throws -> Int {
        try await called("arrivedExpired").arrivedExpired
    }

    func losses() async -> Set<SQLiteMessageStorage.Loss> { contents.withLock { $0.script.losses } }

    func impact(of policy: MessageRetentionPolicy, in conversation: ConversationID) async throws -> Int {
        try await called("impact").impact
    }

    func messageCount(in conversation: ConversationID) async throws -> Int {
        try await called("messageCount").messageCount
    }

    func updateRetentionPolicy(
        _ policy: MessageRetentionPolicy, in conversation: ConversationID, applyingTo scope: HistoryScope
    ) async throws -> RetentionPolicyMessage {
        _ = try await called("update \(scope)", "update")
        change { $0.own = policy }
        return RetentionPolicyMessage(RetentionRegister(policy: policy), of: participant, in: conversation)
    }

    func controlMessage(in conversation: ConversationID) async throws -> RetentionPolicyMessage {
        let script = try await called("controlMessage")
        return RetentionPolicyMessage(RetentionRegister(policy: script.own), of: participant, in: conversation)
    }

    func deleteAll(in conversation: ConversationID) async throws -> PurgeReport {
        let report = try await called("deleteAll").report
        change { $0.messageCount = 0 }
        return report
    }
}

/// Lets calls wait until a test says so.
actor CallGate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func pass() async {
        if isOpen { return }
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            for watcher in watchers where watcher.count <= waiting.count { watcher.continuation.resume() }
            watchers.removeAll { $0.count <= waiting.count }
        }
    }

    /// When so many calls wait.
    func arrival(of count: Int = 1) async {
        if waiting.count < count { await withCheckedContinuation { watchers.append((count, $0)) } }
    }

    /// Lets the call go on that waits longest, once so many wait.
    func letFirstPass(of count: Int) async {
        await arrival(of: count)
        if !waiting.isEmpty { waiting.removeFirst().resume() }
    }

    /// Lets the call go on that came last, once so many wait.
    func letLastPass(of count: Int) async {
        await arrival(of: count)
        waiting.popLast()?.resume()
    }

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}
