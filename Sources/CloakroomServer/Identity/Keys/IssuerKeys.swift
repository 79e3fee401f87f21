package import CloakroomAWS
import CloakroomJOSE
package import CloakroomLoop
import CloakroomJSON

/// The keys of one issuer as they are now: fixed by the settings, or fetched and kept fresh.
///
/// A fetched set is fetched again ahead of its end, in the background. While its source is unreachable, or sends
/// rubbish, the last good keys stay. A token with an unknown `kid` has the set fetched at most every
/// ``refetchInterval``, however many there are and from however many clients; all that wait share one fetch.
@LoopActor
package final class IssuerKeys {
    static let refetchInterval: Duration = .seconds(30)
    /// How long the address that a discovery document names is used before the document is fetched again.
    private static let discoveryInterval: Duration = .seconds(86_400)
    /// Who comes when so many wait already is not let in.
    private static let maximumWaiting = 1024

    /// `nil` until the first fetch has succeeded.
    private(set) var keys: KeySet?
    /// Another number whenever the keys are others: what was verified with the old ones must be verified again.
    private(set) var generation = 0
    /// Called with the keys whenever they are others.
    var onChange: (@LoopActor (KeySet) -> Void)?

    private let remote: Remote?
    private var source: JSON?
    private var discovered: (address: String, at: ContinuousClock.Instant)?
    private var lifetime = KeyLifetime.standard
    private var failures = 0
    private var lastFetch: ContinuousClock.Instant?
    private var fetching: Task<Void, Never>?
    private var waiting = 0

    /// What a set that is fetched needs.
    package struct Remote: Sendable {
        package let issuer: String
        /// `nil`: the issuer's discovery document names it.
        package let url: String?
        package let fetcher: KeyFetcher
        package let runtime: RuntimeDependencies
        /// Called after each fetch; `nil` for success.
        package let onFetch: @LoopActor @Sendable (KeyFetchError?) -> Void

        package init(
            issuer: String, url: String?, fetcher: KeyFetcher, runtime: RuntimeDependencies,
            onFetch: @escaping @LoopActor @Sendable (KeyFetchError?) -> Void
        ) {
            self.issuer = issuer
            self.url = url
            self.fetcher = fetcher
            self.runtime = runtime
            self.onFetch = onFetch
        }
    }

    init(fixed keys: KeySet) {
        self.keys = keys
        remote = nil
    }

    init(remote: Remote) { self.remote = remote }

    var isFixed: Bool { remote == nil }

    /// Whether they are what their source last had to say; not while it is unreachable, nor while a fetch is under way.
    var areCurrent: Bool { keys != nil && failures == 0 && fetching == nil }

    /// Whether waiting for a fetch could bring a key that is not there.
    var canRefetch: Bool {
        guard let remote, waiting < Self.maximumWaiting else { return false }
        if fetching != nil { return true }
        // Without any keys the background decides when to fetch again.
        guard keys != nil, let lastFetch else { return false }
        return remote.runtime.now() - lastFetch >= Self.refetchInterval
    }

    /// Waits for the fetch that is under way, else for a new one.
    func refetch() async {
        guard canRefetch else { return }
        waiting += 1
        await refresh()
        waiting -= 1
    }

    /// Fetches until the task is cancelled; returns at once when the keys are fixed.
    package func refreshContinuously() async {
        guard let remote else { return }
        while !Task.isCancelled {
            await refresh()
            do { try await remote.runtime.sleep(nextDelay(remote.runtime.randomNumber())) } catch { return }
        }
    }

    /// One fetch; a second caller waits for the first one's.
    func refresh() async {
        guard let remote else { return }
        if let fetching { return await fetching.value }
        lastFetch = remote.runtime.now()
        let task = LoopActor.spawn { [self] in
            do throws(KeyFetchError) {
                store(try await fetched(remote))
                remote.onFetch(nil)
            } catch {
                failures += 1
                // The keys may have moved.
                discovered = nil
                remote.onFetch(error)
            }
            fetching = nil
        }
        fetching = task
        await task.value
    }

    private func fetched(_ remote: Remote) async throws(KeyFetchError) -> FetchedKeys {
        if let url = remote.url { return try await remote.fetcher.keys(at: url) }
        let now = remote.runtime.now()
        if let discovered, now - discovered.at < Self.discoveryInterval {
            return try await remote.fetcher.keys(at: discovered.address)
        }
        let address = try await remote.fetcher.discover(issuer: remote.issuer)
        discovered = (address, now)
        return try await remote.fetcher.keys(at: address)
    }

    private func store(_ fetched: FetchedKeys) {
        failures = 0
        lifetime = fetched.lifetime
        guard source != fetched.source else { return }
        source = fetched.source
        keys = fetched.keys
        generation += 1
        onChange?(fetched.keys)
    }

    /// Between 75 and 90 % of the lifetime; after failures from half a second up, doubled each time, to a minute, or
    /// to a quarter of one while there are no keys at all.
    func nextDelay(_ randomNumber: UInt64) -> Duration {
        let fraction = Double(randomNumber >> 11) / Double(1 << 53)
        guard failures > 0 else { return .seconds(lifetime) * (0.75 + 0.15 * fraction) }
        let longest: Duration = keys == nil ? .seconds(15) : .seconds(60)
        return min(longest, .seconds(1) * (1 << min(failures - 1, 10))) * (0.5 + 0.5 * fraction)
    }
}
