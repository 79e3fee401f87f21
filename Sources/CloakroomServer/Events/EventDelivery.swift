package import CloakroomAWS
package import CloakroomHTTP
import CloakroomJSON
package import CloakroomLoop
package import CloakroomRedis

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Posts events to the webhook, each until that says that it has it.
///
/// All workers do, as consumers of one group: an event that a worker had when it ended is taken by another when its next
/// attempt is due. While the webhook is unreachable, or many events wait for another attempt, new ones go out one at a time, and
/// more and more seldom while it is unreachable: what waits for another attempt stays little, and one event that the webhook
/// never takes holds up no other.
@LoopActor
package final class EventDelivery {
    /// At once, by one worker.
    private static let maximumPosts = 8
    private static let page = 128
    /// With so many waiting for another attempt new ones go out one at a time.
    private static let maximumPending = 1000
    private static let interval: Duration = .seconds(1)
    /// The longest time between two new events, neither of which is taken.
    private static let longestProbeDelay: Duration = .seconds(60)
    /// A webhook has little to say.
    package nonisolated static let maximumResponseBytes = 64 << 10

    private let stream: EventStream
    private let webhook: Settings.Events.Webhook
    private let transport: any Transport
    private let consumer: String
    private let metrics: Metrics
    private let log: Log
    private let runtime: RuntimeDependencies
    private let retry: EventRetry
    /// Where the next page of pending entries begins.
    private var position = "-"
    /// Those to claim next, with the attempts there were.
    private var due: [String: Int] = [:]
    private var pendingCount = 0
    private var isAway = false
    /// When the next new event may go out while they go one at a time, and how long it is until the one after that if that one
    /// is not taken.
    private var nextProbe = ContinuousClock.now
    private var probeDelay = interval

    /// Called with why Redis gave or took none.
    package var onFailure: (@LoopActor (RedisError) -> Void)?

    /// - Parameter consumer: names the worker; the same for the one that takes its place.
    package init(
        _ stream: EventStream, to webhook: Settings.Events.Webhook, by transport: any Transport, consumer: String,
        metrics: Metrics, log: Log, runtime: RuntimeDependencies = .onLoop
    ) {
        self.stream = stream
        self.webhook = webhook
        self.transport = transport
        self.consumer = consumer
        self.metrics = metrics
        self.log = log
        self.runtime = runtime
        retry = EventRetry(timeout: webhook.timeout)
    }

    /// Until the task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            let isMore = await deliver()
            if !isMore { try? await LoopActor.sleep(for: Self.interval * Double.random(in: 0.5...1)) }
        }
    }

    /// Takes what is new or due, and posts it.
    ///
    /// - Returns: whether there may be more to do at once.
    package func deliver() async -> Bool {
        let claimed = due
        due = [:]
        let count = newCount
        let taken: EventStream.Taken
        do throws(RedisError) {
            taken = try await stream.take(
                as: consumer, new: count, from: position, page: Self.page, claiming: claimed.keys.sorted(),
                idleFor: retry.minimumDelay)
        } catch {
            onFailure?(error)
            return false
        }
        pendingCount = taken.pendingCount
        for pending in taken.pending where due.count < Self.maximumPosts && claimed[pending.id] == nil {
            if retry.isDue(pending) { due[pending.id] = pending.attempts }
        }
        // A page with more than can be claimed is read again.
        if due.count < Self.maximumPosts {
            let last = taken.pending.count == Self.page ? taken.pending.last : nil
            position = last.map { EventStream.next($0.id) } ?? "-"
        }
        let posts =
            taken.claimed.map { entry in post(entry, attempt: (claimed[entry.id] ?? 0) + 1) }
            + taken.new.map { entry in post(entry, attempt: 1) }
        for post in posts { await post.value }
        return !due.isEmpty || position != "-" || (count > 0 && taken.new.count == count && newCount > 0)
    }

    private var newCount: Int {
        if !isAway, pendingCount < Self.maximumPending { return Self.maximumPosts }
        return ContinuousClock.now >= nextProbe ? 1 : 0
    }

    private func post(_ entry: EventStream.Entry, attempt: Int) -> Task<Void, Never> {
        LoopActor.spawn { [self] in await finish(entry, attempt: attempt, await outcome(of: entry, attempt: attempt)) }
    }

    // MARK: One event

    private enum Outcome {
        case attempted(EventDeliveryLabel)
        /// Another attempt would be one too many, or would lead to nothing.
        case hopeless(String)
    }

    private func outcome(of entry: EventStream.Entry, attempt: Int) async -> Outcome {
        guard EventHead(entry.text) != nil else { return .hopeless("malformed") }
        // The one before may have ended with its worker.
        guard attempt <= webhook.maximumAttempts else { return .hopeless("attempts") }
        let time = Int(runtime.wallClock().timeIntervalSince1970)
        let request = UpstreamRequest(
            method: "POST", url: webhook.url,
            fields: [
                "Content-Type": "application/json",
                WebhookSignature.fieldName: WebhookSignature.value(of: entry.text, at: time, key: webhook.key),
            ], body: entry.text)
        do throws(TransportError) {
            let response = try await transport.send(request, timeout: webhook.timeout)
            return .attempted(EventDeliveryLabel(status: response.status))
        } catch {
            return .attempted(EventDeliveryLabel(error))
        }
    }

    private func finish(_ entry: EventStream.Entry, attempt: Int, _ outcome: Outcome) async {
        let head = EventHead(entry.text)
        do throws(RedisError) {
            switch outcome {
            case .hopeless(let reason): try await bury(entry, head, because: reason, attempts: attempt - 1)
            case .attempted(let label):
                metrics.postedEvent(label)
                noteWhetherAway(label, attempt: attempt)
                if label == .delivered {
                    try await stream.settle(entry.id)
                    if let type = head?.known { metrics.deliveredEvent(type, after: age(of: entry)) }
                } else if attempt >= webhook.maximumAttempts {
                    try await bury(entry, head, because: "attempts", attempts: attempt)
                } else if age(of: entry) + retry.delay(afterAttempts: attempt, of: entry.id) > webhook.maximumAge {
                    try await bury(entry, head, because: "age", attempts: attempt)
                }
            }
        } catch {
            // It stays pending, and is posted again.
            onFailure?(error)
        }
    }

    private func bury(
        _ entry: EventStream.Entry, _ head: EventHead?, because reason: String, attempts: Int
    ) async throws(RedisError) {
        guard
            let trimmed = try await stream.bury(
                entry, because: reason, attempts: attempts, keeping: webhook.deadMaximumLength)
        else { return }
        metrics.lostEvents(1, .dead)
        metrics.lostEvents(trimmed, .deadTrimmed)
        log.error(
            "an event is dead: the webhook did not take it",
            ["event": .text(head?.id ?? entry.id), "attempts": .integer(attempts), "reason": .text(reason)])
    }

    private func noteWhetherAway(_ label: EventDeliveryLabel, attempt: Int) {
        if label == .delivered {
            (nextProbe, probeDelay) = (.now, Self.interval)
        } else if attempt == 1, ContinuousClock.now >= nextProbe {
            // One that responds is there: what it refuses says nothing of the next one.
            if !label.isAway { probeDelay = Self.interval }
            nextProbe = .now + probeDelay
            if label.isAway { probeDelay = min(probeDelay * 2, Self.longestProbeDelay) }
        }
        // An event that fails once more says nothing of others.
        if label.isAway, attempt > 1 { return }
        if label == .refused {
            log.warning("the webhook refuses an event")
        } else if label.isAway != isAway {
            if label.isAway {
                log.warning("the webhook does not take events", ["reason": .text(label.rawValue)])
            } else {
                log.info("the webhook takes events again")
            }
        }
        isAway = label.isAway
    }

    /// As far as the clocks of Redis and of this host agree.
    private func age(of entry: EventStream.Entry) -> Duration {
        .milliseconds(max(0, Int(runtime.wallClock().timeIntervalSince1970 * 1000) - entry.milliseconds))
    }
}

/// What has to be known of an event that is delivered.
private struct EventHead {
    let id: String
    /// Its type; `nil` for one that only a later version knows, and whose events this worker posts as well.
    let known: EventType?

    /// - Returns: `nil` for what no worker wrote.
    init?(_ text: [UInt8]) {
        guard let object = (try? JSON(parsing: text))?.object, let id = object["id"]?.string,
            let type = object["type"]?.string
        else { return nil }
        self.id = id
        known = EventType(rawValue: type)
    }
}

extension EventDeliveryLabel {
    init(status: Int) {
        switch status {
        case 200..<300: self = .delivered
        case 408, 429, 500...: self = .unavailable
        default: self = .refused
        }
    }

    init(_ error: TransportError) {
        switch error {
        case .unreachable, .notAllowedNow: self = .unreachable
        case .untrusted: self = .untrusted
        case .timeout: self = .timeout
        case .interrupted, .tooLarge, .cancelled, .invalidRequest: self = .interrupted
        }
    }

    /// Whether other events would fare no better.
    var isAway: Bool {
        switch self {
        case .delivered, .refused: false
        case .unavailable, .unreachable, .untrusted, .timeout, .interrupted: true
        }
    }
}
