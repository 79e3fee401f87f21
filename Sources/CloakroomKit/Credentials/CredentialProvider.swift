package import AWS
import Foundation

/// Temporary credentials for S3 that refresh themselves.
///
/// From half of their lifetime on, others are got in the background, while the held ones are handed out; in their last
/// five minutes callers wait for others. However many callers wait, one request is under way. While the vendor is away,
/// what is still valid is used; a failure is never remembered for longer than the server itself asks.
///
/// Expirations are judged by the server's clock: a device whose clock is wrong, or is set, changes nothing.
public actor CredentialProvider {
    private let vendor: any CredentialVendor
    private let serverClock: ServerClock?
    let surroundings: Surroundings

    private var held: HeldCredentials?
    /// As last told by the vendor's answers, by S3's, or by the store.
    private var serverTime: ServerTime?
    private var pause = RefreshPause()
    private var refusals = RefusalCount()
    private var flight: Flight?
    private var lastNumber = 0
    private var waiting: [Int: CheckedContinuation<Outcome, Never>] = [:]
    private var store: StoreQueue
    private var hasLoaded = false

    private typealias Outcome = Result<VendedCredentials, CloakroomError>

    private struct Flight {
        let number: Int
        var task: Task<Void, Never>?
    }

    /// - Parameters:
    ///   - vendor: a ``CloakroomClient``.
    ///   - store: for a restart without new credentials; `nil` keeps them in memory only.
    ///   - onStoreFailure: told when the store failed; that never keeps anybody from getting credentials.
    public init(
        vendor: any CredentialVendor, store: (any CredentialStore)? = nil,
        onStoreFailure: @escaping @Sendable (CloakroomError) -> Void = { _ in }
    ) {
        self.init(
            vendor: vendor, store: store, onStoreFailure: onStoreFailure,
            serverClock: (vendor as? any TimekeepingVendor)?.serverClock, surroundings: Surroundings())
    }

    /// - Parameter serverClock: of the server that vends; without one the device's own clock has to do.
    package init(
        vendor: any CredentialVendor, store: (any CredentialStore)? = nil,
        onStoreFailure: @escaping @Sendable (CloakroomError) -> Void = { _ in }, serverClock: ServerClock? = nil,
        surroundings: Surroundings
    ) {
        self.vendor = vendor
        self.serverClock = serverClock
        self.store = StoreQueue(store, onFailure: onStoreFailure, surroundings: surroundings)
        self.surroundings = surroundings
    }

    /// Those to use now.
    ///
    /// - Throws: ``CloakroomError``: why there are none, ``CloakroomError/Code/cancelled`` for a cancelled task. The next
    ///   call tries again. After ``CloakroomError/Code/sessionRevoked`` nothing is held any more, in the store neither.
    public func credentials() async throws(CloakroomError) -> VendedCredentials {
        let reading = reading()
        if let held {
            switch held.freshness(at: reading) {
            case .fresh: return held.vended
            case .due:
                if !pause.isOn(at: reading.instant) { takeOff() }
                return held.vended
            case .urgent:
                if flight == nil, pause.isOn(at: reading.instant) { return held.vended }
            case .ended: break
            }
        }
        if Task.isCancelled { throw .cancelled }
        if flight == nil, !isUsable(held, at: reading), let refusal = pause.refusal(at: reading.instant) {
            throw refusal
        }
        takeOff()
        return try await landing()
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
        let reading = reading()
        return serverTime.map { .seconds($0.time(at: reading).timeIntervalSince(reading.wallClock)) } ?? .zero
    }

    /// For signing out: forgets everything, in memory and in the store, and ends what is under way, so that it stores
    /// nothing afterwards. When this comes back, nothing is left.
    ///
    /// First see to it that the vendor's token is gone: whoever calls ``credentials()`` afterwards asks it again.
    /// Who waits for credentials gets ``CloakroomError/Code/cancelled``.
    public func forget() async {
        held = nil
        serverTime = nil
        pause = RefreshPause()
        refusals = RefusalCount()
        hasLoaded = true
        flight?.task?.cancel()
        land(.failure(CloakroomError(.cancelled, "The credentials were forgotten.")))
        await store.clear()?.value
    }

    /// For the package's own S3 client.
    package nonisolated var source: CredentialSource {
        CredentialSource(
            current: {
                do throws(CloakroomError) {
                    return try await self.credentials().credentials
                } catch {
                    // The word for it that the client knows.
                    if error.code == .cancelled { throw CancellationError() }
                    throw error
                }
            },
            whenRefused: { refused in await self.drop { $0.credentials == refused } })
    }
}

// MARK: Refreshing

extension CredentialProvider {
    func reading() -> ClockReading { ClockReading(wallClock: surroundings.wallClock(), instant: surroundings.now()) }

    /// S3 told the time.
    ///
    /// - Returns: whether that makes a difference, to what we knew or to the device's own clock.
    func learn(_ theirs: Date) -> Bool {
        let reading = reading()
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
        guard let held, isRefused(held.vended), refusals.isWorthOthers(age: held.age(at: reading())) else { return }
        self.held = nil
        await store.clear()?.value
    }

    /// One request is under way at a time.
    private func takeOff() {
        guard flight == nil else { return }
        lastNumber += 1
        let number = lastNumber
        flight = Flight(number: number)
        flight?.task = surroundings.spawn { await self.fly(number) }
    }

    private func fly(_ number: Int) async {
        if let stored = await resumed(), flight?.number == number {
            held = stored
            serverTime = stored.serverTime
            return land(.success(stored.vended))
        }
        guard flight?.number == number else { return }
        do throws(CloakroomError) {
            let vended = try await vend()
            let told = await toldTime()
            guard flight?.number == number else { return }
            try take(vended, toldTime: told)
            land(.success(vended))
        } catch {
            guard flight?.number == number else { return }
            if error.code == .sessionRevoked {
                await signOut()
                guard flight?.number == number else { return }
            }
            fail(error)
        }
    }

    /// What was held before a restart, the first time; `nil` when it is of no use.
    private func resumed() async -> HeldCredentials? {
        guard !hasLoaded else { return nil }
        hasLoaded = true
        return await store.load()?.resumed(at: reading())
    }

    private func vend() async throws(CloakroomError) -> VendedCredentials {
        do {
            return try await vendor.vendCredentials()
        } catch let error as CloakroomError {
            throw error
        } catch is CancellationError {
            throw .cancelled
        } catch {
            throw CloakroomError(.unknown, "The vendor failed with a \(type(of: error)).")
        }
    }

    /// What time the server's answers tell, if any has told it.
    private func toldTime() async -> Date? {
        guard let serverClock, await serverClock.isKnown else { return nil }
        return await serverClock.now
    }

    private func take(_ vended: VendedCredentials, toldTime: Date?) throws(CloakroomError) {
        let reading = reading()
        if let toldTime { serverTime = ServerTime(toldTime, at: reading) }
        let now = serverTime?.time(at: reading) ?? reading.wallClock
        let fresh = HeldCredentials(vended, at: ServerTime(now, at: reading))
        guard fresh.freshness(at: reading) != .ended else {
            throw CloakroomError(.invalidAnswer, "The credentials had ended already when they came.")
        }
        held = fresh
        pause.begin(afterSuccessAt: reading.instant)
        store.save(fresh)
    }

    /// The user's sessions were ended: what is held is not used to its end, and does not survive a restart.
    private func signOut() async {
        held = nil
        await store.clear()?.value
    }

    private func fail(_ error: CloakroomError) {
        let reading = reading()
        var generator = Surroundings.Generator(randomNumber: surroundings.randomNumber)
        pause.begin(after: error, at: reading.instant, using: &generator)
        if let held, isUsable(held, at: reading) {
            land(.success(held.vended))
        } else {
            land(.failure(error))
        }
    }

    // MARK: Waiting

    /// Waits for the request under way; a caller that is cancelled leaves alone.
    private func landing() async throws(CloakroomError) -> VendedCredentials {
        lastNumber += 1
        let number = lastNumber
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { waiting[number] = $0 }
        } onCancel: {
            _ = surroundings.spawn { await self.leave(number) }
        }
        return try outcome.get()
    }

    /// How many wait for the request under way.
    var waiterCount: Int { waiting.count }

    private func leave(_ number: Int) {
        waiting.removeValue(forKey: number)?.resume(returning: .failure(.cancelled))
    }

    private func land(_ outcome: Outcome) {
        flight = nil
        for continuation in waiting.values { continuation.resume(returning: outcome) }
        waiting = [:]
    }
}
