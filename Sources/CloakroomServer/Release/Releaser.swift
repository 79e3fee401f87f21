package import CloakroomAWS
package import CloakroomLoop
import CloakroomWire

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Releases images of chats before their rule ends them.
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
    private let queue: ObjectQueue
    private let now: @Sendable () -> Date
    private let release: @Sendable (ObjectAddress, ContinuousClock.Instant) async -> Release

    /// - Parameters:
    ///   - noncurrentDays: how long a bucket with versions keeps those that are not current.
    ///   - queue: where renewals wait for their turns, too.
    ///   - release: releases one object until a deadline.
    package init(
        _ chat: Settings.Chat, bucket: String, noncurrentDays: Int, requestDeadline: Duration, metrics: Metrics,
        queue: ObjectQueue, now: @escaping @Sendable () -> Date = { Date() },
        release: @escaping @Sendable (ObjectAddress, ContinuousClock.Instant) async -> Release
    ) {
        self.chat = chat
        self.noncurrentDays = noncurrentDays
        self.requestDeadline = requestDeadline
        self.metrics = metrics
        self.queue = queue
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
        let deadline = ContinuousClock.now + requestDeadline
        let batch = ReleaseBatch(count: checked.objects.count)
        await queue.perform(checked.objects.count) { [release] position in
            batch.outcomes[position] = await release(checked.objects[position], deadline)
        }
        let outcomes = batch.outcomes
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
}

/// What became of the objects of one request, by their positions.
@LoopActor
private final class ReleaseBatch {
    var outcomes: [Release]

    init(count: Int) { outcomes = Array(repeating: .unavailable(retryAfter: nil, code: "NotSent"), count: count) }
}

extension Date {
    /// When S3 ends what is so many days old: at the next midnight in UTC (S3 User Guide, "Lifecycle rules: Based on an
    /// object's age").
    fileprivate func expiration(days: Int) -> Date {
        let day = (timeIntervalSince1970 / 86_400).rounded(.down)
        return Date(timeIntervalSince1970: (day + Double(days + 1)) * 86_400)
    }
}
