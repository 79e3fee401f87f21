import CloakroomMessages
import Foundation

/// What is on its way to a device.
struct Packet: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        /// A control message.
        case control(Data)
        case message(Letter)
    }

    var sender: Int
    var content: Content
}

/// A message as it is sent.
struct Letter: Hashable, Sendable {
    /// Its number in the ledger.
    var id: Int
    var stamp: Data
    var relayTime: Milliseconds?
    var quotes: Int?
}

/// What has been written, and when it truly was: what devices do is compared with that.
struct Ledger {
    struct Entry {
        var letter: Letter
        var author: ParticipantID
        var writtenAt: Milliseconds
        var stamp: MessageRetentionPolicy
        /// What each device knew when it admitted it; `nil`: not there yet.
        var arrivals: [Arrival?]
    }

    struct Arrival {
        var at: Milliseconds
        var ownPolicy: MessageRetentionPolicy
        /// How often the device's clock had been set.
        var settings: Int
        /// Whether the device has ended it; from when on what quotes it may end.
        var endedAt: Milliseconds?
    }

    /// A change of a policy that reaches back.
    struct Cut {
        var author: ParticipantID
        var milliseconds: Milliseconds
        var before: Milliseconds
    }

    var entries: [Entry] = []
    var cuts: [Cut] = []
    var purges = 0

    /// The earliest time at which a device may have ended a message, if its clocks are right.
    ///
    /// - Returns: `nil`: never.
    func earliestEnd(of id: Int, on device: Device, hasRelay: Bool) -> Milliseconds? {
        let entry = entries[id]
        var end: Milliseconds?
        if let limit = limit(of: id, on: device) { end = entry.writtenAt + limit }
        for cut in cuts {
            // Without a relay the bases are by clocks that are wrong, so a cut may bind what it should not.
            guard !hasRelay || entry.writtenAt < cut.before else { continue }
            guard cut.author == entry.author || cut.author == device.owner else { continue }
            let least = cut.author == device.owner ? 0 : device.leastForPeers
            end = MessageTerm.first(end, entry.writtenAt + max(cut.milliseconds, least))
        }
        if let quoted = entry.letter.quotes {
            let quotedEnd = MessageTerm.first(
                entries[quoted].arrivals[device.index]?.endedAt,
                earliestEnd(of: quoted, on: device, hasRelay: hasRelay))
            // A peer ends this one no sooner than any other.
            end = MessageTerm.first(end, quotedEnd.map { max($0, entry.writtenAt + device.leastForPeers) })
            end = MessageTerm.first(end, earliestOwnEnd(of: quoted, on: device, hasRelay: hasRelay))
        }
        return end
    }

    /// The same by what the device's user decided alone.
    private func earliestOwnEnd(of id: Int, on device: Device, hasRelay: Bool) -> Milliseconds? {
        let entry = entries[id]
        var end: Milliseconds?
        if let own = entry.arrivals[device.index]?.ownPolicy, own != .noStorage {
            end = own.milliseconds.map { entry.writtenAt + $0 }
        }
        for cut in cuts where cut.author == device.owner {
            guard !hasRelay || entry.writtenAt < cut.before else { continue }
            end = MessageTerm.first(end, entry.writtenAt + cut.milliseconds)
        }
        guard let quoted = entry.letter.quotes else { return end }
        return MessageTerm.first(end, earliestOwnEnd(of: quoted, on: device, hasRelay: hasRelay))
    }

    /// How long a device keeps a message by its stamp and the user's own policy, while the conversation is open;
    /// `nil`: no limit.
    func limit(of id: Int, on device: Device) -> Milliseconds? {
        let entry = entries[id]
        guard let arrival = entry.arrivals[device.index] else { return nil }
        let stamp: MessageRetentionPolicy
        if entry.author != device.owner, let limit = entry.stamp.milliseconds, limit < device.leastForPeers {
            stamp = .oneHour
        } else {
            stamp = entry.stamp
        }
        let policies = [stamp, arrival.ownPolicy]
        return policies.filter { $0 != .noStorage }.compactMap(\.milliseconds).min()
            ?? (policies.contains(.noStorage) ? 365 * 86_400_000 : nil)
    }
}
