package import CloakroomAWS
package import CloakroomLoop
import CloakroomWire

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Releases images of chats before their rule ends them: all at once as far as S3 keeps up, batches taking turns.
///
/// Nothing is sent for a key outside the prefix of chats, nor for a token that was not made for this key and user.
@LoopActor
package final class Releaser {
    /// A request with what of it may be sent.
    struct Checked {
        fileprivate let items: [ReleaseItem]
        /// By the position of each item: that of its key among ``keys``; `nil` where nothing may be sent.
        fileprivate let positions: [Int?]
        /// Each once.
        let keys: [String]
        fileprivate let objects: [ObjectAddress]
    }

    /// What became of a request.
    struct Outcome {
        let results: [ReleaseResult]
        /// When those are to be sent again that were unavailable; `nil` where none was.
        let retryAfter: Duration?
        /// Why the store refuses what the settings say is allowed; `nil` where it refuses nothing.
        let misconfiguration: String?
    }

    let tokens: ReleaseTokens
    private let chat: Settings.Chat
    private let noncurrentDays: Int
    private let requestDeadline: Duration
    private let metrics: Metrics
    private let limiter: CopyConcurrencyLimiter
    private let now: @Sendable () -> Date
    private let release: @Sendable (ObjectAddress, ContinuousClock.Instant) async -> Release
    private var queue = FairQueue<ReleaseBatch>()
    private var running = 0

    /// - Parameters:
    ///   - noncurrentDays: how long a bucket with versions keeps those that are not current.
    ///   - limiter: told of each attempt at S3 by the code that makes it.
    ///   - release: releases one object until a deadline.
    package init(
        _ chat: Settings.Chat, bucket: String, noncurrentDays: Int, requestDeadline: Duration, metrics: Metrics,
        limiter: CopyConcurrencyLimiter, now: @escaping @Sendable () -> Date = { Date() },
        release: @escaping @Sendable (ObjectAddress, ContinuousClock.Instant) async -> Release
    ) {
        self.chat = chat
        self.noncurrentDays = noncurrentDays
        self.requestDeadline = requestDeadline
        self.metrics = metrics
        self.limiter = limiter
        self.now = now
        self.release = release
        tokens = ReleaseTokens(keys: chat.keys, bucket: bucket)
    }

    /// Tells which images the user may release.
    func check(_ items: [ReleaseItem], of user: UserID) -> Checked {
        var sent: [String: Int] = [:]
        var positions: [Int?] = []
        var keys: [String] = []
        var objects: [ObjectAddress] = []
        positions.reserveCapacity(items.count)
        for item in items {
            guard isName(item.key), tokens.verify(item.releaseToken, for: item.key, of: user),
                let object = ObjectAddress(key: item.key)
            else {
                metrics.released(.foreign)
                positions.append(nil)
                continue
            }
            let position = sent[item.key, default: keys.count]
            if position == keys.count {
                sent[item.key] = position
                keys.append(item.key)
                objects.append(object)
            }
            positions.append(position)
        }
        return Checked(items: items, positions: positions, keys: keys, objects: objects)
    }

    /// Whether it is a name behind the prefix of chats, as uploads are given; all of it is ASCII.
    private func isName(_ key: String) -> Bool {
        let prefix = chat.keyPrefix.utf8
        return key.utf8.starts(with: prefix) && KeyRules.isName(key.utf8.dropFirst(prefix.count))
    }

    func run(_ checked: Checked) async -> Outcome {
        let outcomes = await outcomes(of: checked.objects)
        var retryAfter: Duration?
        var misconfiguration: String?
        for outcome in outcomes {
            switch outcome {
            case .deleted, .tagged: metrics.released(.released)
            case .unavailable(let delay, _):
                metrics.released(.unavailable)
                retryAfter = max(delay ?? .seconds(5), retryAfter ?? .zero)
            case .misconfigured(let code):
                metrics.released(.misconfigured)
                misconfiguration = misconfiguration ?? code
            }
        }
        let now = now()
        let results = zip(checked.items, checked.positions).map { item, position in
            position.map { result(item.key, outcomes[$0], now) } ?? ReleaseResult(key: item.key, failure: .forbidden)
        }
        return Outcome(results: results, retryAfter: retryAfter, misconfiguration: misconfiguration)
    }

    private func result(_ key: String, _ outcome: Release, _ now: Date) -> ReleaseResult {
        switch outcome {
        case .deleted(false): return ReleaseResult(key: key, bytesGoneBy: nil)
        case .deleted(true): return ReleaseResult(key: key, bytesGoneBy: now.expiration(days: noncurrentDays))
        case .tagged(let isVersioned):
            let hidden = now.expiration(days: ReleaseTag.days)
            return ReleaseResult(key: key, bytesGoneBy: isVersioned ? hidden.expiration(days: noncurrentDays) : hidden)
        case .unavailable: return ReleaseResult(key: key, failure: .unavailable)
        case .misconfigured: return ReleaseResult(key: key, failure: .internalError)
        }
    }

    // MARK: Sending

    private func outcomes(of objects: [ObjectAddress]) async -> [Release] {
        guard !objects.isEmpty else { return [] }
        let batch = ReleaseBatch(objects, deadline: ContinuousClock.now + requestDeadline)
        return await batch.finished {
            queue.join(batch)
            start()
        }
    }

    private func start() {
        while running < limiter.current, let batch = queue.next() {
            running += 1
            let (position, object) = nextObject(of: batch)
            LoopActor.spawn { [self] in await send(object, position, of: batch) }
        }
    }

    private func nextObject(of batch: ReleaseBatch) -> (position: Int, object: ObjectAddress) {
        let next = batch.nextObject()
        if batch.hasMore { queue.rejoin(batch) }
        return next
    }

    private func send(_ object: ObjectAddress, _ position: Int, of batch: ReleaseBatch) async {
        var (object, position, batch) = (object, position, batch)
        while true {
            batch.finish(position, await release(object, batch.deadline))
            guard running <= limiter.current, let next = queue.next() else { break }
            (batch, (position, object)) = (next, nextObject(of: next))
            if running < limiter.current { start() }
        }
        running -= 1
    }
}

extension Date {
    /// When S3 ends what is so many days old: at the next midnight in UTC (S3 User Guide, "Lifecycle rules: Based on an
    /// object's age").
    fileprivate func expiration(days: Int) -> Date {
        let day = (timeIntervalSince1970 / 86_400).rounded(.down)
        return Date(timeIntervalSince1970: (day + Double(days + 1)) * 86_400)
    }
}
