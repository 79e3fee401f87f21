import CloakroomMessages
import Foundation

/// Messages end when they are to, nowhere earlier, and come back nowhere.
extension Oracle {
    /// The app is told to remove what it has of messages, which go next.
    func purges(_ references: [MessageReference], _ launch: MessengerLaunch) {
        let device = launch.device
        Trace.note(device, "\(references.count) messages go")
        for reference in references {
            guard let entry = messages.entry(reference.id), let copy = entry.copies[device] else {
                Finding.end("\(device) purges a message that it never had: \(reference.id.rawValue)")
            }
            guard !copy.isAgain else { continue }
            if !copy.mayBeDeleted, !messages.isInMemory(entry, copy) {
                requireOver(entry, copy, launch, "purges")
                Trace.reached(.messagePurged)
            }
            copy.end = copy.end ?? messages.now
        }
    }

    private func requireOver(
        _ entry: MessageLedger.Entry, _ copy: MessageLedger.Copy, _ launch: MessengerLaunch, _ what: String
    ) {
        let earliest = messages.earliestEnd(of: entry, copy, of: launch.user)
        if let earliest, earliest <= messages.now + MessageLedger.slack { return }
        // Without the server a clock that differs from itself by more than two days across a start of the device is not told
        // from time that the device was off.
        if launch.clock.unexplained >= 2 * .day - .second {
            entry.isExcused = true
            Trace.reached("a message purged early by a clock that was more than two days off")
            return
        }
        let early = earliest.map { "\(Int($0 - messages.now)) s early" } ?? "which has no end"
        Finding.end("\(launch.device) \(what) message \(entry.number) of \(entry.author), \(early)")
    }

    // MARK: Arrivals

    /// - Returns: what the attempt is told as.
    func arrival(_ launch: MessengerLaunch, _ own: MessageRetentionPolicy, relayTime: Date?, isServerKnown: Bool)
        -> MessageLedger.Arrival
    {
        let isShared = relayTime != nil || isServerKnown
        return MessageLedger.Arrival(
            time: messages.now, relayTime: relayTime?.timeIntervalSince1970, ownPolicy: own,
            starts: launch.clock.starts, settings: launch.clock.settings, isShared: isShared, wasShared: isShared)
    }

    func admitted(_ entry: MessageLedger.Entry, _ admission: Admission, _ launch: MessengerLaunch) {
        guard let copy = entry.copies[launch.device] else { preconditionFailure("no attempt was told") }
        let former = Array(copy.arrivals.dropLast())
        switch admission {
        case .kept:
            Finding.require(
                copy.end == nil && !copy.isDeleted && !former.contains { $0.isKept },
                "message \(entry.number) comes back to \(launch.device)")
            // Former attempts ended before they had kept it.
            copy.arrivals = Array(copy.arrivals.suffix(1))
            copy.arrivals[0].isKept = true
            copy.mayBeDeleted = false
        case .replay:
            // Without its keys it still knows what was over for certain by then.
            Finding.require(
                !former.isEmpty || copy.isAgain,
                "\(launch.device) says that it had message \(entry.number) before, and it had not")
            copy.arrivals.removeLast()
            if copy.arrivals.isEmpty { copy.isDeleted = true }
            Trace.reached(copy.end == nil ? .letterRepeated : .letterRepeatedLate)
        case .arrivedExpired:
            if !messages.isInMemory(entry, copy) { requireOver(entry, copy, launch, "refuses") }
            copy.end = messages.now
            Trace.reached(.arrivedExpired)
        }
    }

    /// A message is not sent any more, as it is over.
    func isNotSent(_ entry: MessageLedger.Entry, _ launch: MessengerLaunch) {
        guard let copy = entry.copies[launch.device], copy.end == nil, !copy.mayBeDeleted,
            !messages.isInMemory(entry, copy)
        else { return }
        requireOver(entry, copy, launch, "does not send")
    }

    // MARK: Reading

    /// What the library's own calls return of a conversation.
    func shows(_ shown: [StoredMessage], of conversation: Conversation, _ launch: MessengerLaunch, isServerKnown: Bool)
    {
        let device = launch.device
        var numbers: Set<Int> = []
        for message in shown {
            guard let entry = messages.entry(message.id), let copy = entry.copies[device],
                let arrival = copy.arrivals.last
            else { Finding.end("\(device) shows a message that it never had: \(message.id.rawValue)") }
            numbers.insert(entry.number)
            Finding.require(message.body == entry.body, "\(device) shows another text of message \(entry.number)")
            Finding.require(
                copy.end == nil && !copy.isDeleted, "\(device) shows message \(entry.number), which has ended there")
            if copy.wasHidden { Trace.reached(.shownAgain) }
            copy.wasHidden = false
            guard let latest = messages.latestEnd(of: entry, copy), latest + MessageLedger.slack < messages.now else {
                continue
            }
            let isByServer = isServerKnown && arrival.isShared
            let isByClock = arrival.settings == launch.clock.settings && arrival.relayTime == nil
            Finding.require(
                !isByServer && !isByClock,
                "\(device) shows message \(entry.number) \(Int(messages.now - latest)) s after its end")
        }
        for entry in messages.here(device) where entry.conversation.id == conversation.id {
            guard let copy = entry.copies[device], !numbers.contains(entry.number), !messages.isInMemory(entry, copy),
                let arrival = copy.arrivals.last, arrival.isKept, !copy.mayBeDeleted
            else { continue }
            let earliest = messages.earliestEnd(of: entry, copy, of: launch.user) ?? .infinity
            guard messages.now + MessageLedger.slack < earliest else { continue }
            Finding.require(
                !(isServerKnown && arrival.isShared) || copy.isAgain,
                "\(device) does not show message \(entry.number), which is not over")
            if !copy.wasHidden { Trace.reached(.hiddenEarly) }
            copy.wasHidden = true
        }
    }

    /// The server's time is known: what arrived by the device's own clock since it has started counts by the server's.
    func knowsServer(_ launch: MessengerLaunch) {
        for entry in messages.here(launch.device) {
            guard let copy = entry.copies[launch.device] else { continue }
            for index in copy.arrivals.indices where copy.arrivals[index].starts == launch.clock.starts {
                copy.arrivals[index].isShared = true
            }
        }
    }

    /// All is purged that is over for certain.
    ///
    /// - Parameter seconds: that it may have taken.
    func hasPurged(_ launch: MessengerLaunch, isServerKnown: Bool, within seconds: Double = 0) {
        for entry in messages.here(launch.device) {
            guard let copy = entry.copies[launch.device], !copy.isAgain,
                let latest = messages.latestEnd(of: entry, copy),
                let arrival = copy.arrivals.last, arrival.isKept,
                latest + MessageLedger.slack + seconds < messages.now
            else { continue }
            Finding.require(
                !isServerKnown || !arrival.isShared,
                "\(launch.device) has message \(entry.number) \(Int(messages.now - latest)) s after its end")
            Trace.reached(.purgeHeldBack)
        }
    }

    // MARK: Images

    /// The worker says that an image of a device's is released.
    func released(_ key: String, device: String) {
        Finding.require(world?.store.s3.exists(key) != true, "the worker says that \(key) is released: it is not")
        guard let image = messages.images[key] else { return }
        requireUnneeded(key, image)
        if !image.isReleased { Trace.note(device, "\(key) is released") }
        messages.images[key]?.isReleased = true
        Trace.reached(.imageReleased)
    }

    /// All images are released whose messages are over, here and at others.
    ///
    /// - Parameter waiting: those that wait, with whether it is time.
    func hasReleased(_ waiting: [String: Bool], _ launch: MessengerLaunch) {
        for (key, image) in messages.images.sorted(by: { $0.key < $1.key })
        where image.device == launch.device && !image.isLost && !image.isReleased && !image.entries.isEmpty {
            let areOver = image.entries.allSatisfy { number in
                let entry = messages.entries[number]
                guard let copy = entry.copies[image.device], copy.arrivals.contains(where: \.isKept) else {
                    return false
                }
                // Whether another device's change reaches it is not known here: its image may wait for longer.
                let end = messages.stampedEnd(of: entry) ?? .infinity
                return (copy.end != nil || copy.isDeleted) && end + MessageLedger.slack < messages.now
            }
            guard areOver, world?.store.s3.exists(key) == true else { continue }
            Finding.require(
                waiting[key] == false,
                "\(launch.device) leaves \(key) in the bucket, and its messages \(image.entries) are over")
            Trace.reached(.imageWaits)
        }
    }

    private func requireUnneeded(_ key: String, _ image: MessageLedger.Image) {
        let entries = image.entries.map { messages.entries[$0] }
        guard !entries.contains(where: \.isExcused) else { return }
        for entry in entries {
            let end = messages.sharedEnd(of: entry) ?? .infinity
            Finding.require(
                end <= messages.now + MessageLedger.slack, "\(key) is gone, and message \(entry.number) refers to it")
        }
    }

    /// Images of messages that are not over for all are there, until the bucket's rule ends them.
    func lookAtChatImages() {
        let oldest = messages.now - Double(ObjectStore.chatDays) * 86_400
        let images = messages.images.filter { !$0.value.isReleased && $0.value.time > oldest }
        for (key, image) in images.sorted(by: { $0.key < $1.key }) where world?.store.s3.exists(key) != true {
            requireUnneeded(key, image)
        }
    }
}
