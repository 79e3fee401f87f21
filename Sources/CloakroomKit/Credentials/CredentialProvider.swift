package import CloakroomAWS
import Foundation

/// Temporary credentials for S3 that refresh themselves.
///
/// From half of their lifetime on, others are got in the background, while the held ones are handed out; in their last
/// five minutes callers wait for others. However many callers wait, one request is in flight. While the vendor is unreachable,
/// valid credentials stay in use; a failure is remembered for no longer than the server's `Retry-After`.
///
/// Expirations are compared with the server's clock: a wrong or changed clock of the device has no effect.
public actor CredentialProvider {
    private let vendor: any CredentialVendor
    private let serverClock: ServerClock?
    let runtime: RuntimeDependencies

    private var held: HeldCredentials?
    /// From the latest response of the vendor or S3, or from the store.
    private var serverTime: ServerTime?
    private var pause = RefreshBackoff()
    private var refusals = RefusalCount()
    private var ongoingRefresh: Refresh?
    private var lastNumber = 0
    private var waiting: [Int: CheckedContinuation<RefreshResult, Never>] = [:]
    private var store: StoreQueue
    private var hasLoaded = false
    /// Whose they have to be; `nil` for anybody's.
    private let userID: String?

    private typealias RefreshResult = Result<VendedCredentials, CloakroomError>

    private struct Refresh {
        let number: Int
        var task: Task<Void, Never>?
    }

    /// - Parameters:
    ///   - vendor: a ``CloakroomClient``.
    ///   - store: for a restart without new credentials; `nil` keeps them in memory only.
    ///   - onStoreFailure: called when the store failed; credentials are vended all the same.
    public init(
        vendor: any CredentialVendor, store: (any CredentialStore)? = nil,
        onStoreFailure: @escaping @Sendable (CloakroomError) -> Void = { _ in }
    ) {
        self.init(
            vendor: vendor, store: store, onStoreFailure: onStoreFailure,
            serverClock: (vendor as? any TimekeepingVendor)?.serverClock, runtime: RuntimeDependencies())
    }

    /// - Parameter serverClock: of the server that vends; without one the device's own clock has to do.
    package init(
        vendor: any CredentialVendor, store: (any CredentialStore)? = nil,
        onStoreFailure: @escaping @Sendable (CloakroomError) -> Void = { _ in }, serverClock: ServerClock? = nil,
        userID: String? = nil, runtime: RuntimeDependencies
    ) {
        self.userID = userID
        self.vendor = vendor
        self.serverClock = serverClock
        self.store = StoreQueue(store, onFailure: onStoreFailure, runtime: runtime)
        self.runtime = runtime
    }

    /// Those to use now.
    ///
    /// - Throws: ``CloakroomError``: why there are none, ``CloakroomError/Code/cancelled`` for a cancelled task. The next
    ///   call retries. After ``CloakroomError/Code/sessionRevoked`` nothing is held any more, in the store neither.
    public func credentials() async throws(CloakroomError) -> VendedCredentials {
        let reading = runtime.clockReading
        if let held {
            switch held.freshness(at: reading) {
            case .fresh: return held.vended
            case .due:
                if !pause.isOn(at: reading.instant) { startRefresh() }
                return held.vended
            case .urgent:
                if ongoingRefresh == nil, pause.isOn(at: reading.instant) { return held.vended }
            case .ended: break
            }
        }
        if Task.isCancelled { throw .cancelled }
        if ongoingRefresh == nil, !isUsable(held, at: reading), let refusal = pause.refusal(at: reading.instant) {
            throw refusal
        }
        startRefresh()
        return try await awaitRefresh()
    }

    /// S3 called these expired or unknown: they are dropped, from the store too, and the next call gets others.
    ///
    /// Nothing happens for others than those held. When S3 refuses one set after the other, they are replaced no more
    /// often than after 1, 2, 4 … seconds.
    public func refuse(_ credentials: VendedCredentials) async {
        await drop { $0 == credentials }
    }

    /// What the server's clock shows when the device's shows 0; zero while nothing is known.
    public var clockOffset: Duration {
        let reading = runtime.clockReading
        return serverTime.map { .seconds($0.time(at: reading).timeIntervalSince(reading.wallClock)) } ?? .zero
    }

    /// For signing out: forgets everything, in memory and in the store, and cancels the request in flight, so that it stores
    /// nothing afterwards. When this returns `nil`, nothing is left.
    ///
    /// Remove the vendor's token first: a later call of ``credentials()`` sends a new request.
    /// Waiting callers get ``CloakroomError/Code/cancelled``.
    ///
    /// - Returns: why they are in the store still, where the next launch finds them, such as that it is locked: call this again.
    @discardableResult public func forget() async -> CloakroomError? {
        held = nil
        serverTime = nil
        pause = RefreshBackoff()
        refusals = RefusalCount()
        hasLoaded = true
        ongoingRefresh?.task?.cancel()
        completeRefresh(.failure(CloakroomError(.cancelled, "The credentials were forgotten.")))
        return await store.clear()?.end()
    }

    /// For the package's own S3 client.
    package nonisolated var source: CredentialSource {
        CredentialSource { () throws(CloakroomError) in
            try await self.credentials()
        } onRejected: { refused in
            await self.drop { $0.credentials == refused }
        }
    }
}

// MARK: Refreshing

extension CredentialProvider {
    /// A response of S3 had a `Date`.
    ///
    /// - Returns: whether that makes a difference, to what we knew or to the device's own clock.
    func learn(_ theirs: Date) -> Bool {
        let reading = runtime.clockReading
        let ours = serverTime?.time(at: reading) ?? reading.wallClock
        // AWS tolerates a quarter of an hour; its own SDKs correct from five minutes.
        let isNew = abs(theirs.timeIntervalSince(ours)) >= 300
        if isNew {
            serverTime = ServerTime(theirs, at: reading)
            held?.correctClock(by: theirs.timeIntervalSince(ours), at: reading)
        }
        return isNew || abs(theirs.timeIntervalSince(reading.wallClock)) >= 300
    }

    private func isUsable(_ held: HeldCredentials?, at reading: ClockReading) -> Bool {
        held.map { $0.freshness(at: reading) != .ended } ?? false
    }

    private func drop(_ isRefused: (VendedCredentials) -> Bool) async {
        guard let held, isRefused(held.vended), refusals.shouldReplace(age: held.age(at: runtime.clockReading)) else {
            return
        }
        self.held = nil
        await store.clear()?.end()
    }

    /// One request is in flight at a time.
    private func startRefresh() {
        guard ongoingRefresh == nil else { return }
        lastNumber += 1
        let number = lastNumber
        ongoingRefresh = Refresh(number: number)
        ongoingRefresh?.task = runtime.spawn { await CurrentRuns.none { await self.runRefresh(number) } }
    }

    private func runRefresh(_ number: Int) async {
        if let stored = await resumed(), ongoingRefresh?.number == number {
            held = stored
            serverTime = stored.serverTime
            return completeRefresh(.success(stored.vended))
        }
        guard ongoingRefresh?.number == number else { return }
        do throws(CloakroomError) {
            let vended = try await vend()
            let reportedTime = await serverClock?.time
            guard ongoingRefresh?.number == number else { return }
            try accept(vended, reportedTime: reportedTime)
            completeRefresh(.success(vended))
        } catch {
            guard ongoingRefresh?.number == number else { return }
            if error.code == .sessionRevoked {
                await signOut()
                guard ongoingRefresh?.number == number else { return }
            }
            fail(error)
        }
    }

    /// What was held before a restart, the first time; `nil` when it is of no use.
    private func resumed() async -> HeldCredentials? {
        guard !hasLoaded else { return nil }
        hasLoaded = true
        return await store.load()?.resumed(at: runtime.clockReading)
    }

    private func vend() async throws(CloakroomError) -> VendedCredentials {
        do {
            return try await vendor.vendCredentials().checked()
        } catch let error as CloakroomError {
            throw error
        } catch is CancellationError {
            throw .cancelled
        } catch {
            throw CloakroomError(.unknown, "The vendor failed with a \(type(of: error)).")
        }
    }

    /// - Parameter reportedTime: by the server's responses, if one has had it.
    private func accept(_ vended: VendedCredentials, reportedTime: ServerTime?) throws(CloakroomError) {
        if let userID { _ = try vended.checked(belongingTo: userID) }
        let reading = runtime.clockReading
        if let reportedTime { serverTime = reportedTime }
        let now = serverTime?.time(at: reading) ?? reading.wallClock
        let fresh = HeldCredentials(vended, at: ServerTime(now, at: reading))
        guard fresh.freshness(at: reading) != .ended else {
            throw CloakroomError(.invalidResponse, "The credentials had ended already when they came.")
        }
        held = fresh
        pause.begin(afterSuccessAt: reading.instant)
        store.save(fresh)
    }

    /// The user's sessions were ended: what is held is not used to its end, and does not survive a restart.
    private func signOut() async {
        held = nil
        await store.clear()?.end()
    }

    private func fail(_ error: CloakroomError) {
        let reading = runtime.clockReading
        var generator = RuntimeDependencies.Generator(randomNumber: runtime.randomNumber)
        pause.begin(after: error, at: reading.instant, using: &generator)
        if let held, isUsable(held, at: reading) {
            completeRefresh(.success(held.vended))
        } else {
            completeRefresh(.failure(error))
        }
    }

    // MARK: Waiting

    /// Waits for the request in flight; cancelling one caller does not cancel the request.
    private func awaitRefresh() async throws(CloakroomError) -> VendedCredentials {
        lastNumber += 1
        let number = lastNumber
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { waiting[number] = $0 }
        } onCancel: {
            _ = runtime.spawn { await self.leave(number) }
        }
        return try outcome.get()
    }

    /// How many wait for the request in flight.
    var waiterCount: Int { waiting.count }

    private func leave(_ number: Int) {
        waiting.removeValue(forKey: number)?.resume(returning: .failure(.cancelled))
    }

    private func completeRefresh(_ outcome: RefreshResult) {
        ongoingRefresh = nil
        for continuation in waiting.values { continuation.resume(returning: outcome) }
        waiting = [:]
    }
}
