import CloakroomLoop
import CloakroomMessages
import Foundation

/// What is true of messages, whatever the devices' clocks say: when each was written, what its users wanted, and what became of
/// it on each device. Times are the world's, in seconds since 1970.
@LoopActor
final class MessageLedger {
    /// One attempt to keep a message on a device.
    struct Arrival {
        let time: Double
        let relayTime: Double?
        /// What the device's user wanted.
        let ownPolicy: MessageRetentionPolicy
        /// How often the device had started, and its clock had been set.
        let starts: Int
        let settings: Int
        /// Whether its end is by a clock that all share: the relay's or the server's.
        var isShared: Bool
        /// The same when it arrived: else a change may reach it that was made before.
        let wasShared: Bool
        /// Seconds after which it ends by a change that reaches back, made on the device itself.
        var cut: Double?
        /// `false`: the process ended before it was told.
        var isKept = false
    }

    /// A message on a device.
    final class Copy {
        var arrivals: [Arrival] = []
        /// When the app was told that it is over.
        var end: Double?
        /// Deleted by the user, lost with its keys, or in memory of a conversation that was closed.
        var isDeleted = false
        /// The same may be, as the process ended before it was told.
        var mayBeDeleted = false
        /// What it was known by is lost: it may arrive again.
        var isForgotten = false
        /// It has arrived again, and the app may still be told that it was lost.
        var isAgain = false
        var wasHidden = false
    }

    final class Entry {
        let number: Int
        let conversation: Conversation
        let author: String
        let time: Double
        let stamp: MessageRetentionPolicy
        let assetKeys: [String]
        var copies: [String: Copy] = [:]
        /// A device may have ended it early, as is documented.
        var isExcused = false

        init(
            _ number: Int, in conversation: Conversation, by author: String, at time: Double,
            stamp: MessageRetentionPolicy, assetKeys: [String]
        ) {
            (self.number, self.conversation, self.author, self.time) = (number, conversation, author, time)
            (self.stamp, self.assetKeys) = (stamp, assetKeys)
        }

        var body: Data { Data("text \(number) of \(author)".utf8) }
    }

    /// A change that reaches back.
    struct Cut {
        let conversation: ConversationID
        let author: String
        let seconds: Double
        let time: Double
        /// Whether it was made by a clock that all share.
        let isCertain: Bool
    }

    struct Image {
        let device: String
        let time: Double
        var entries: [Int] = []
        var isReleased = false
        /// The device has lost what a release takes.
        var isLost = false
    }

    /// Two server times may differ by so much: a response's date is known to half of the time that it took.
    static let slack = 45.0

    private(set) var entries: [Entry] = []
    private(set) var cuts: [Cut] = []
    var images: [String: Image] = [:]
    var agreements: [ConversationID: Agreement] = [:]
    /// Users whose messenger was installed anew on one of their devices.
    private(set) var newUsers: Set<String> = []
    /// Messages that are on a device, as far as is known.
    private(set) var held: [String: [Int]] = [:]

    var now: Double { Double(VirtualTime.now) / 1e9 }

    // MARK: What happens

    func write(
        in conversation: Conversation, by author: String, stamp: MessageRetentionPolicy, assetKeys: [String]
    ) -> Entry {
        let entry = Entry(
            entries.count, in: conversation, by: author, at: now, stamp: stamp, assetKeys: assetKeys)
        entries.append(entry)
        for key in assetKeys { images[key]?.entries.append(entry.number) }
        return entry
    }

    func entry(_ id: MessageID) -> Entry? {
        guard let number = Int(id.rawValue.dropFirst(2)), entries.indices.contains(number) else { return nil }
        return entries[number]
    }

    /// An attempt begins.
    func arrives(_ entry: Entry, at device: String, _ arrival: Arrival) {
        let copy = entry.copies[device] ?? Copy()
        entry.copies[device] = copy
        if copy.isForgotten {
            copy.arrivals = []
            (copy.isForgotten, copy.isDeleted, copy.mayBeDeleted, copy.end) = (false, false, false, nil)
            copy.isAgain = true
        }
        copy.arrivals.append(arrival)
        if held[device]?.contains(entry.number) != true { held[device, default: []].append(entry.number) }
    }

    /// - Parameter isDone: `false`: the process may end before that.
    func cut(_ cut: Cut, on device: String, isDone: Bool) {
        guard isDone else { return cuts.append(cut) }
        for entry in here(device) where entry.conversation.id == cut.conversation {
            guard let copy = entry.copies[device] else { continue }
            for index in copy.arrivals.indices where cut.isCertain && copy.arrivals[index].isShared {
                copy.arrivals[index].cut = min(copy.arrivals[index].cut ?? .infinity, cut.seconds)
            }
        }
    }

    /// The user deletes what is there of a conversation.
    ///
    /// - Parameter isDone: `false`: the process may end before that.
    func delete(_ conversation: ConversationID, on device: String, isDone: Bool) {
        for entry in here(device) where entry.conversation.id == conversation { delete(entry, on: device, isDone) }
    }

    /// Messages in memory end.
    ///
    /// - Parameter conversation: `nil`: the process has ended.
    func close(_ conversation: ConversationID?, on device: String, isDone: Bool) {
        for entry in here(device) where conversation == nil || entry.conversation.id == conversation {
            if let copy = entry.copies[device], isInMemory(entry, copy) { delete(entry, on: device, isDone) }
        }
    }

    /// The messages begin anew without their keys: all is lost, with what it was known by.
    func lose(on device: String, isDone: Bool) {
        for entry in here(device) { delete(entry, on: device, isDone) }
        guard !isDone else { return }
        for entry in entries { entry.copies[device]?.isForgotten = true }
        // Of messages in memory names and tokens were sealed.
        for (key, image) in images where image.device == device {
            if image.entries.contains(where: { entries[$0].stamp == .noStorage }) { images[key]?.isLost = true }
        }
    }

    private func delete(_ entry: Entry, on device: String, _ isDone: Bool) {
        guard let copy = entry.copies[device] else { return }
        copy.mayBeDeleted = true
        // What was never told to be kept may not have been there.
        if isDone, copy.arrivals.contains(where: \.isKept) { copy.isDeleted = true }
    }

    /// Images that a device has uploaded for messages of a conversation.
    func ownImages(in conversation: Conversation, on device: String) -> [String] {
        images.filter { _, image in
            image.device == device && image.entries.contains { entries[$0].conversation.id == conversation.id }
        }.keys.sorted()
    }

    /// The app is new on the device: nothing is there.
    func reinstalled(_ device: String, of user: String) {
        newUsers.insert(user)
        for entry in entries { entry.copies[device] = nil }
        held[device] = nil
        for conversation in agreements.keys { agreements[conversation]?.forget(device) }
        for (key, image) in images where image.device == device { images[key]?.isLost = true }
    }

    /// Messages that are on a device, or may be; those that have ended are left out from now on.
    func here(_ device: String) -> [Entry] {
        let left = (held[device] ?? []).filter { number in
            entries[number].copies[device].map { $0.end == nil && !$0.isDeleted } ?? false
        }
        held[device] = left
        return left.map { entries[$0] }
    }

    // MARK: What holds

    /// Not to be stored by its stamp, or by what the device's user wanted: it ends with the process, at the latest.
    func isInMemory(_ entry: Entry, _ copy: Copy) -> Bool {
        entry.stamp == .noStorage || copy.arrivals.contains { $0.ownPolicy == .noStorage }
    }

    /// Before this no device of a user has a right to end a message that is stored; `nil`: never.
    func earliestEnd(of entry: Entry, _ copy: Copy, of user: String) -> Double? {
        var limits = [entry.stamp.seconds] + copy.arrivals.map(\.ownPolicy.seconds)
        for cut in cuts where cut.author == entry.author || cut.author == user {
            limits.append(reach(of: cut, entry, [copy]))
        }
        return limits.compactMap { $0 }.min().map { entry.time + $0 }
    }

    /// After this no device with the right time has a right to show a message that is stored; `nil`: never.
    func latestEnd(of entry: Entry, _ copy: Copy) -> Double? {
        guard !isInMemory(entry, copy), let last = copy.arrivals.last else { return nil }
        let limit = [entry.stamp.seconds, last.ownPolicy.seconds, last.cut].compactMap { $0 }.min()
        return limit.map { (last.relayTime ?? last.time) + $0 }
    }

    /// Until then others may show a message; `nil`: for ever.
    func sharedEnd(of entry: Entry) -> Double? {
        guard entry.stamp != .noStorage else { return entry.time }
        var limits = [entry.stamp.seconds]
        let copies = Array(entry.copies.values)
        for cut in cuts where cut.author == entry.author { limits.append(reach(of: cut, entry, copies)) }
        return limits.compactMap { $0 }.min().map { entry.time + $0 }
    }

    /// The same by its stamp alone.
    func stampedEnd(of entry: Entry) -> Double? {
        entry.stamp == .noStorage ? entry.time : entry.stamp.seconds.map { entry.time + $0 }
    }

    /// - Returns: `nil` for a message that the change is not about.
    private func reach(of cut: Cut, _ entry: Entry, _ copies: [Copy]) -> Double? {
        guard cut.conversation == entry.conversation.id else { return nil }
        // By a clock that was wrong it may reach any message, and a message that came by one may be reached by any.
        let isCertain = cut.isCertain && copies.allSatisfy { $0.arrivals.allSatisfy(\.wasShared) }
        return isCertain && entry.time > cut.time + 2 * Self.slack ? nil : cut.seconds
    }
}

extension MessageRetentionPolicy {
    /// `nil` for no time, also where nothing is stored.
    fileprivate var seconds: Double? {
        self == .noStorage ? nil : afterSent.map { Double($0.components.seconds) }
    }
}
