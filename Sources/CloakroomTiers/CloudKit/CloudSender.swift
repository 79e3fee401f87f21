import Foundation

/// Sends requests for the one account that the tier works for.
struct CloudSender: Sendable {
    let container: any CloudContainer
    let session: CloudSession
    let requests: CloudRequests

    func checkedUser() async throws(CloudFault) -> String {
        try await requests.send { () async throws(CloudFault) in try await usedUser() }
    }

    private func usedUser() async throws(CloudFault) -> String {
        do throws(CloudFault) {
            let user = try await container.userRecordName()
            try await session.use(user)
            return user
        } catch .notAuthenticated {
            // The same account may only want its password.
            if let fault = CloudFault(try await container.accountStatus()), fault != .notAuthenticated { throw fault }
            throw await session.user == nil ? .notAuthenticated : .accountChanged
        }
    }

    /// Runs a request between two checks of the account: what it says of another one's records means nothing here.
    func inAccount<Value>(
        _ request: () async throws(CloudFault) -> Value
    ) async throws(CloudFault) -> Value {
        _ = try await usedUser()
        let result: Result<Value, CloudFault>
        do throws(CloudFault) { result = .success(try await request()) } catch { result = .failure(error) }
        // Where the request failed, the account may be why.
        if case .failure(let fault) = result, !fault.mayDependOnAccount { throw fault }
        _ = try await usedUser()
        return try result.get()
    }

    /// - Parameter zone: known to exist when the request succeeds, or fails for a record that is not there.
    func send<Value>(
        in zone: String, _ request: () async throws(CloudFault) -> Value
    ) async throws(CloudFault) -> Value {
        let result: Result<Value, CloudFault>
        do throws(CloudFault) {
            result = .success(
                try await requests.send { () async throws(CloudFault) in try await inAccount(request) })
        } catch {
            result = .failure(error)
        }
        switch result {
        case .success, .failure(.unknownItem): await session.didSee(zone)
        case .failure: break
        }
        return try result.get()
    }

    func fetch(_ names: [String], in zone: String) async -> [String: Result<CloudRecord, CloudFault>] {
        let results = await requests.send(names, name: { $0 }, byteCount: { $0.utf8.count }) {
            (names) async throws(CloudFault) in
            try await inAccount { () async throws(CloudFault) in try await container.fetch(names, in: zone) }
        }
        await learn(from: results, zone)
        return results
    }

    /// Saves records, and makes their zone when there never was one.
    func save(
        _ records: [CloudRecord], in zone: String, policy: CloudSavePolicy,
        progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) async -> [String: Result<CloudRecord, CloudFault>] {
        let results = await saveOnce(records, in: zone, policy: policy, progress: progress)
        let isZoneMissing = results.values.contains { $0.fault == .zoneNotFound }
        guard isZoneMissing, await !session.hasSeen(zone) else { return results }
        do throws(CloudFault) {
            try await send(in: zone) { () async throws(CloudFault) in try await container.saveZone(zone) }
        } catch {
            return results.mapValues { $0.fault == .zoneNotFound ? .failure(error) : $0 }
        }
        let unsaved = records.filter { results[$0.name]?.fault == .zoneNotFound }
        return results.merging(await saveOnce(unsaved, in: zone, policy: policy, progress: progress)) { $1 }
    }

    private func saveOnce(
        _ records: [CloudRecord], in zone: String, policy: CloudSavePolicy,
        progress: @escaping @Sendable (Double) -> Void
    ) async -> [String: Result<CloudRecord, CloudFault>] {
        let results = await requests.send(records, name: { $0.name }, byteCount: { $0.requestBytes }) {
            (records) async throws(CloudFault) in
            try await inAccount { () async throws(CloudFault) in
                try await container.save(records, in: zone, policy: policy, progress: progress)
            }
        }
        await learn(from: results, zone)
        for case .success(let record) in results.values { await session.didSave(record) }
        return results
    }

    func delete(_ names: [String], in zone: String) async -> [String: Result<Void, CloudFault>] {
        let results = await requests.send(names, name: { $0 }, byteCount: { $0.utf8.count }) {
            (names) async throws(CloudFault) in
            try await inAccount { () async throws(CloudFault) in try await container.delete(names, in: zone) }
        }
        await learn(from: results, zone)
        return results
    }

    private func learn<Value>(from results: [String: Result<Value, CloudFault>], _ zone: String) async {
        let isThere = results.values.contains { result in
            switch result {
            case .success, .failure(.unknownItem), .failure(.recordChanged): true
            case .failure: false
            }
        }
        if isThere { await session.didSee(zone) }
    }
}

extension CloudFault {
    /// Whether another account's records may be the reason.
    fileprivate var mayDependOnAccount: Bool {
        switch self {
        case .unknownItem, .zoneNotFound, .userDeletedZone, .encryptedDataReset, .recordChanged, .partialFailure,
            .changeTokenExpired, .notAuthenticated, .quotaExceeded, .refused:
            true
        default: false
        }
    }
}

extension Result where Failure == CloudFault {
    fileprivate var fault: CloudFault? {
        guard case .failure(let fault) = self else { return nil }
        return fault
    }
}
