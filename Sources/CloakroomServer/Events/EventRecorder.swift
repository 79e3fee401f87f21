package import CloakroomHTTP
package import CloakroomLoop
package import CloakroomRedis

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Takes events from requests to Redis. No request waits for it: until Redis has an event it is kept in memory, and what finds
/// no room there is dropped and counted.
@LoopActor
package final class EventRecorder {
    /// Of what waits for Redis.
    static let maximumBytes = 4 << 20
    private static let maximumBytesAtOnce = 256 << 10
    private static let retryInterval: Duration = .seconds(1)
    /// With the interval it is longer than the failovers that the manual's section on Redis has measured.
    private static let maximumLastAttempts = 5

    private let stream: EventStream
    private let settings: Settings.Events
    private let metrics: Metrics
    private let log: Log
    private let now: @Sendable () -> Date
    private let sleep: @Sendable (Duration) async throws -> Void
    private var ids: EventIDs
    private var waiting: [(text: String, type: EventType)] = []
    private var waitingBytes = 0
    private var isBusy = false
    private var isDropping = false
    /// Until the next attempt.
    private var pause: Task<Void, Never>?
    private var isFinishing = false
    /// In a row, of those that began after ``finish()``.
    private var failedLastAttempts = 0
    private var isAbandoned = false

    /// Called with why Redis took none.
    package var onFailure: (@LoopActor (RedisError) -> Void)?

    package init(
        _ stream: EventStream, settings: Settings.Events, metrics: Metrics, log: Log, ids: EventIDs = EventIDs(),
        now: @escaping @Sendable () -> Date = { Date() },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await LoopActor.sleep(for: $0) }
    ) {
        self.stream = stream
        self.settings = settings
        self.metrics = metrics
        self.log = log
        self.ids = ids
        self.now = now
        self.sleep = sleep
    }

    /// How many wait for Redis.
    package var waitingCount: Int { waiting.count }

    /// - Parameter user: as the audit has it.
    package func record(_ kind: Event.Kind, of user: String, by request: Request) {
        if case .userSignedIn = kind, !settings.tellsSignIns { return }
        let text = Event(id: ids.next(), kind, user: user, time: now(), by: request).text
        let count = text.utf8.count
        guard waitingBytes + count <= Self.maximumBytes else { return drop() }
        waiting.append((text, kind.type))
        waitingBytes += count
        guard !isBusy else { return }
        isBusy = true
        // All of a turn go out together.
        EventPoller.shared.atTurnEnd { [self] in LoopActor.spawn { [self] in await flush() } }
    }

    private func drop() {
        metrics.lostEvents(1, .memory)
        guard !isDropping else { return }
        isDropping = true
        log.error("events are dropped: Redis takes none, and there is no room for more")
    }

    /// Until none waits, or the last attempts have failed. One whose response was lost is added again: it has the same
    /// id.
    private func flush() async {
        while !waiting.isEmpty, !hasGivenUp {
            let batch = nextBatch()
            let isLast = isFinishing
            do throws(RedisError) {
                let trimmed = try await stream.add(batch.map { $0.text })
                taken(batch, trimmed: trimmed)
            } catch {
                onFailure?(error)
                if isLast { failedLastAttempts += 1 }
                if !hasGivenUp { await waitForNextAttempt() }
            }
        }
        isBusy = false
    }

    private var hasGivenUp: Bool { failedLastAttempts >= Self.maximumLastAttempts }

    /// In a task of its own, so that ``finish()`` can end it.
    private func waitForNextAttempt() async {
        let pause = LoopActor.spawn { [sleep] in _ = try? await sleep(Self.retryInterval) }
        self.pause = pause
        await pause.value
    }

    private func nextBatch() -> [(text: String, type: EventType)] {
        var batch: [(text: String, type: EventType)] = []
        var bytes = 0
        for event in waiting.prefix(EventStream.maximumEntries) {
            bytes += event.text.utf8.count
            guard batch.isEmpty || bytes <= Self.maximumBytesAtOnce else { break }
            batch.append(event)
        }
        return batch
    }

    private func taken(_ batch: [(text: String, type: EventType)], trimmed: Int) {
        waiting.removeFirst(batch.count)
        for event in batch {
            waitingBytes -= event.text.utf8.count
            metrics.recordedEvent(event.type)
        }
        if settings.webhook != nil, trimmed > 0 {
            metrics.lostEvents(trimmed, .trimmed)
            log.error("events were trimmed before the webhook had them", ["events": .integer(trimmed)])
        }
        (failedLastAttempts, isDropping) = (0, false)
    }

    /// Returns when Redis has all of them, or the last attempts have failed.
    ///
    /// The first of these is made at once: what failed before says little of Redis now.
    package func finish() async {
        isFinishing = true
        pause?.cancel()
        while !waiting.isEmpty, !hasGivenUp { try? await LoopActor.sleep(for: .milliseconds(5)) }
        abandon()
    }

    /// Counts as lost, once, what Redis has not taken: the worker ends, maybe before ``finish()`` has returned.
    package func abandon() {
        guard !waiting.isEmpty, !isAbandoned else { return }
        isAbandoned = true
        metrics.lostEvents(waiting.count, .memory)
        log.error("events are lost: Redis took none before the worker's end", ["events": .integer(waiting.count)])
    }
}
