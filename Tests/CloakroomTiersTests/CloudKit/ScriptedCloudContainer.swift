import Foundation
import Synchronization

@testable import CloakroomTiers

/// CloudKit in memory, with several accounts, that fails as it is told.
final class ScriptedCloudContainer: CloudContainer {
    enum Operation: Hashable {
        case status, user, checkZone, saveZone, deleteZone, fetch, download, save, delete, changes
    }

    enum Step {
        case fail(CloudFault)
        /// Does it, and loses the response.
        case loseResponse
        /// Does it for the others.
        case failRecords([String: CloudFault])
        /// The same, as an error of the whole request.
        case failPartially([String: CloudFault])
        /// Runs something before it.
        case first(@Sendable () async -> Void)
        /// Runs something after it.
        case afterwards(@Sendable () async -> Void)
    }

    struct Request: Equatable {
        var operation: Operation
        var names: [String] = []
    }

    struct Zone {
        var records: [String: (record: CloudRecord, asset: Data?, change: Int)] = [:]
        var deleted: [(name: String, change: Int)] = []
        var fault: CloudFault?
    }

    struct State {
        var user = "_alice"
        var status = CloudAccountStatus.available
        var zones: [String: [String: Zone]] = [:]
        var steps: [Operation: [Step]] = [:]
        var requests: [Request] = []
        var lastChange = 0
        var pageSize = 200
        var now = Date(timeIntervalSince1970: 1_800_000_000)
    }

    let identifier = "iCloud.com.example.photos"
    let state = Mutex(State())

    func script(_ operation: Operation, _ steps: Step...) {
        state.withLock { $0.steps[operation, default: []] += steps }
    }

    func requests(_ operation: Operation) -> [Request] {
        state.withLock { $0.requests.filter { $0.operation == operation } }
    }

    func forgetRequests() { state.withLock { $0.requests = [] } }

    func records(of user: String = "_alice", in zone: String = "Test") -> [String] {
        state.withLock { ($0.zones[user]?[zone]?.records.keys.sorted()) ?? [] }
    }

    func zones(of user: String = "_alice") -> [String] { state.withLock { $0.zones[user]?.keys.sorted() ?? [] } }

    func failZone(_ zone: String = "Test", _ fault: CloudFault?) {
        state.withLock { $0.zones[$0.user, default: [:]][zone, default: Zone()].fault = fault }
    }

    /// Changes a record behind the tier's back.
    func edit(_ name: String, in zone: String = "Test", _ change: (inout CloudRecord, inout Data?) -> Void) {
        state.withLock { state in
            state.lastChange += 1
            guard var entry = state.zones[state.user]?[zone]?.records[name] else { return }
            change(&entry.record, &entry.asset)
            entry.change = state.lastChange
            state.zones[state.user]?[zone]?.records[name] = entry
        }
    }

    // MARK: - CloudContainer

    func accountStatus() async throws(CloudFault) -> CloudAccountStatus {
        try await run(.status) { $0.status }
    }

    func userRecordName() async throws(CloudFault) -> String {
        try await run(.user) { state throws(CloudFault) in
            guard state.status == .available else { throw .notAuthenticated }
            return state.user
        }
    }

    func checkZone(_ zone: String) async throws(CloudFault) {
        try await run(.checkZone, [zone]) { state throws(CloudFault) in _ = try Self.zone(zone, state) }
    }

    func saveZone(_ zone: String) async throws(CloudFault) {
        try await run(.saveZone, [zone]) { $0.zones[$0.user, default: [:]][zone] = Zone() }
    }

    func deleteZone(_ zone: String) async throws(CloudFault) {
        try await run(.deleteZone, [zone]) { $0.zones[$0.user]?[zone] = nil }
    }

    func fetch(
        _ names: [String], in zone: String
    ) async throws(CloudFault) -> [String: Result<CloudRecord, CloudFault>] {
        try await records(.fetch, names) { (name, state) throws(CloudFault) in
            guard let entry = try Self.zone(zone, state).records[name] else { throw .unknownItem }
            return entry.record
        }
    }

    func download(
        _ name: String, in zone: String, to file: URL, progress: @escaping @Sendable (Double) -> Void
    ) async throws(CloudFault) -> CloudRecord {
        progress(0.5)
        return try await run(.download, [name]) { state throws(CloudFault) in
            guard let entry = try Self.zone(zone, state).records[name] else { throw .unknownItem }
            guard let asset = entry.asset else { throw .assetNotAvailable }
            do { try asset.write(to: file) } catch { throw .unwritableFile(isFull: false) }
            return entry.record
        }
    }

    func save(
        _ records: [CloudRecord], in zone: String, policy: CloudSavePolicy,
        progress: @escaping @Sendable (Double) -> Void
    ) async throws(CloudFault) -> [String: Result<CloudRecord, CloudFault>] {
        progress(0.5)
        progress(1)
        let byName = Dictionary(records.map { ($0.name, $0) }) { first, _ in first }
        return try await self.records(.save, records.map(\.name)) { (name, state) throws(CloudFault) in
            guard var record = byName[name] else { throw .unknownItem }
            let old = try Self.zone(zone, state).records[name]?.record
            if policy == .ifUnchanged, let old, old.changeTag != record.changeTag { throw .recordChanged(old) }
            let asset = record.asset.flatMap { try? Data(contentsOf: $0) }
            guard record.asset == nil || asset != nil else { throw .unreadableFile }
            state.lastChange += 1
            record.asset = nil
            record.changeTag = "tag-\(state.lastChange)"
            record.modified = state.now
            state.zones[state.user]?[zone]?.records[name] = (record, asset, state.lastChange)
            return record
        }
    }

    func delete(_ names: [String], in zone: String) async throws(CloudFault) -> [String: Result<Void, CloudFault>] {
        try await records(.delete, names) { (name, state) throws(CloudFault) in
            guard try Self.zone(zone, state).records[name] != nil else { throw .unknownItem }
            state.lastChange += 1
            state.zones[state.user]?[zone]?.records[name] = nil
            state.zones[state.user]?[zone]?.deleted.append((name, state.lastChange))
        }
    }

    func changes(in zone: String, since token: Data?) async throws(CloudFault) -> CloudChanges {
        let start = token.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
        return try await run(.changes, [token.map { String(decoding: $0, as: UTF8.self) } ?? "-"]) {
            state throws(CloudFault) in
            let content = try Self.zone(zone, state)
            let changes =
                content.records.map { (name: $0.key, change: $0.value.change, record: Optional($0.value.record)) }
                + content.deleted.map { (name: $0.name, change: $0.change, record: nil) }
            let page = changes.filter { $0.change > start }.sorted { $0.change < $1.change }.prefix(state.pageSize)
            let end = page.last?.change ?? start
            let changed = page.compactMap { change in
                change.record.map { record in
                    var record = record
                    record.bytes = nil
                    return (change.name, Result<CloudRecord, CloudFault>.success(record))
                }
            }
            return CloudChanges(
                changed: Dictionary(changed) { _, last in last },
                deleted: page.filter { $0.record == nil }.map(\.name), token: Data(String(end).utf8),
                moreComing: changes.contains { $0.change > end })
        }
    }

    // MARK: -

    private static func zone(_ zone: String, _ state: State) throws(CloudFault) -> Zone {
        guard let content = state.zones[state.user]?[zone] else { throw .zoneNotFound }
        if let fault = content.fault { throw fault }
        return content
    }

    private func records<Value: Sendable>(
        _ operation: Operation, _ names: [String],
        _ body: @Sendable (String, inout State) throws(CloudFault) -> Value
    ) async throws(CloudFault) -> [String: Result<Value, CloudFault>] {
        var failing: [String: CloudFault] = [:]
        var isPartial = false
        switch state.withLock({ $0.steps[operation]?.first }) {
        case .failRecords(let faults): failing = faults
        case .failPartially(let faults): (failing, isPartial) = (faults, true)
        default: break
        }
        if !failing.isEmpty { state.withLock { _ = $0.steps[operation]?.removeFirst() } }
        let faults = failing
        let results = try await run(operation, names) { state in
            Dictionary(
                names.map { name -> (String, Result<Value, CloudFault>) in
                    if let fault = faults[name] { return (name, .failure(fault)) }
                    do throws(CloudFault) {
                        return (name, .success(try body(name, &state)))
                    } catch {
                        return (name, .failure(error))
                    }
                }
            ) { first, _ in first }
        }
        guard !isPartial else { throw .partialFailure(failing) }
        return results
    }

    private func run<Value: Sendable>(
        _ operation: Operation, _ names: [String] = [],
        _ body: @Sendable (inout State) throws(CloudFault) -> Value
    ) async throws(CloudFault) -> Value {
        let step = state.withLock { state in
            state.requests.append(Request(operation: operation, names: names))
            return state.steps[operation]?.isEmpty == false ? state.steps[operation]?.removeFirst() : nil
        }
        if case .fail(let fault) = step { throw fault }
        if case .first(let action) = step { await action() }
        let result = state.withLock { state -> Result<Value, CloudFault> in
            do throws(CloudFault) { return .success(try body(&state)) } catch { return .failure(error) }
        }
        if case .afterwards(let action) = step { await action() }
        if case .loseResponse = step { throw .responseLost }
        return try result.get()
    }
}
