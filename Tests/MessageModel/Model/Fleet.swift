import CloakroomMessages
import Foundation

/// The devices of one conversation, the network between them, and the truth.
struct Fleet {
    /// Whose the devices are: the first two are of one participant.
    static let owners = ["a", "a", "b", "c", "d"]
    static let participants = Set(owners.compactMap { ParticipantID(rawValue: $0) })
    private static let beginning: Milliseconds = 1_800_000_000_000

    var devices: [Device]
    var queues: [[Packet]]
    var ledger = Ledger()
    var truth = beginning
    let conversation: ConversationID
    let hasRelay: Bool
    /// The first thing that went wrong.
    var wrong: String?
    var measures = Measures()

    init(_ setup: Schedule.Setup, conversation: ConversationID) {
        self.conversation = conversation
        hasRelay = setup.hasRelay
        queues = Self.owners.map { _ in [] }
        devices = Self.owners.enumerated().compactMap { index, name in
            guard let owner = ParticipantID(rawValue: name) else { return nil }
            let hasMinimum = setup.hasMinimum && index == Self.owners.count - 1
            return Device(
                index, owner: owner, limits: RetentionLimits(minimumForPeers: hasMinimum ? .seconds(3600) : nil),
                skew: Milliseconds(setup.skews[index]) * 1000, hearsServer: setup.servers[index], at: Self.beginning)
        }
        for device in devices { broadcast(device.index) }
    }

    mutating func perform(_ step: Step) {
        switch step {
        case .policy(let device, let policy, let history):
            if devices[device].isOn { change(device, to: policy.value, history) }
        case .send(let device, let quotes): if devices[device].isOn { send(device, quotes) }
        case .deliver(let device, let packet, let again): deliver(device, packet, again: again)
        case .deliverAll(let device):
            for _ in 0..<queues[device].count { deliver(device, 0, again: false) }
        case .replay(let device, let message):
            guard !ledger.entries.isEmpty else { return }
            let entry = ledger.entries[message % ledger.entries.count]
            // What was never sent cannot arrive.
            guard entry.arrivals[device] != nil, devices[device].isOn, devices[device].isConnected else { return }
            let sender = devices.first { $0.owner == entry.author }?.index ?? 0
            handle(Packet(sender: sender, content: .message(entry.letter)), device)
        case .connect(let device): if devices[device].isOn { broadcast(device) }
        case .pass(let seconds): pass(Milliseconds(seconds) * 1000)
        case .setClock(let device, let seconds):
            devices[device].skew = Milliseconds(seconds) * 1000
            devices[device].settings += 1
        case .power(let device, let isOn): power(device, isOn)
        case .kill(let device): if devices[device].isOn { restart(device) }
        case .network(let device, let isOn): connect(device, isOn)
        case .server(let device, let isOn): devices[device].hearsServer = isOn
        case .close(let device): if devices[device].isOn { lose(devices[device].forgetMemory(), device) }
        }
        for index in devices.indices { tick(index) }
    }

    // MARK: What users do

    private mutating func change(_ device: Int, to policy: MessageRetentionPolicy, _ history: Bool) {
        devices[device].readClocks(at: truth)
        let clock = devices[device].clock
        let newest = devices[device].held.values.map { clock.sharedTime($0.inputs.base) }.max()
        let scope: HistoryScope = history ? .history : .newMessages
        let own = devices[device].own
        guard let changed = own.changed(to: policy, applyingTo: scope, newestBase: newest, at: clock.shared) else {
            return
        }
        if history, let newest, let limit = RetentionCuts.duration(of: policy) {
            ledger.cuts.append(.init(author: devices[device].owner, milliseconds: limit, before: newest + 1))
        }
        devices[device].state.join(changed, of: devices[device].owner)
        devices[device].applyCuts()
        broadcast(device)
    }

    private mutating func send(_ device: Int, _ choice: Int?) {
        guard devices[device].isConnected || !hasRelay else { return }
        devices[device].readClocks(at: truth)
        let sender = devices[device]
        let agreement = sender.state.agreement(
            reader: sender.owner, members: Self.participants, limits: sender.limits)
        var policy = agreement.effective
        var quoted: Int?
        // What is over by the latest plausible time is not shown, so it cannot be quoted.
        let times = sender.clock.plausible
        let shown = sender.held.filter { !times.isDue($0.value.term.local, base: $0.value.inputs.base) }.keys.sorted()
        if let choice, !shown.isEmpty {
            let id = shown[choice % shown.count]
            quoted = id
            if let message = sender.held[id] {
                let now = sender.clock.trusted
                let time = message.inputs.base.clock.isDevice ? now.device : now.shared
                policy = policy.quoting(
                    message.inputs.stamp, until: message.term.shared,
                    within: sender.limits, at: hasRelay ? truth : time)
            }
        }
        let stamp = MessageStamp(policy: policy)
        let letter = Letter(
            id: ledger.entries.count, stamp: stamp.data, relayTime: hasRelay ? truth : nil, quotes: quoted)
        ledger.entries.append(
            .init(
                letter: letter, author: sender.owner, writtenAt: truth, stamp: policy,
                arrivals: devices.map { _ in nil }))
        arrive(letter, of: sender.owner, stamp: stamp, device)
        if sender.isConnected {
            for other in devices.indices where other != device {
                queues[other].append(Packet(sender: device, content: .message(letter)))
            }
        } else {
            devices[device].unsent.append((letter, sender.clock.device))
        }
    }

    // MARK: The network

    mutating func broadcast(_ device: Int) {
        guard devices[device].isConnected else { return }
        let message = RetentionPolicyMessage(devices[device].own, of: devices[device].owner, in: conversation)
        for other in devices.indices where other != device {
            queues[other].append(Packet(sender: device, content: .control(message.data)))
        }
    }

    mutating func deliver(_ device: Int, _ choice: Int, again: Bool) {
        guard devices[device].isOn, devices[device].isConnected, !queues[device].isEmpty else { return }
        let place = choice % queues[device].count
        let packet = queues[device][place]
        if !again { queues[device].remove(at: place) }
        handle(packet, device)
    }

    private mutating func handle(_ packet: Packet, _ device: Int) {
        devices[device].readClocks(at: truth)
        let author = devices[packet.sender].owner
        switch packet.content {
        case .message(let letter):
            do {
                guard let stamp = try MessageStamp.decoded(letter.stamp) else { throw Unreadable() }
                arrive(letter, of: author, stamp: stamp, device)
            } catch { wrong = wrong ?? "a stamp cannot be read" }
        case .control(let data):
            let sender = AuthenticatedSender(author, in: conversation)
            do {
                guard let message = try RetentionPolicyMessage.decoded(data, from: sender) else { throw Unreadable() }
                // Refused while its cuts are in the future by this device's clock; it is sent again.
                let trusted = devices[device].clock.trusted.shared
                guard let register = try? message.register(from: sender, at: trusted) else { return }
                if devices[device].state.join(register, of: author) { devices[device].applyCuts() }
            } catch { wrong = wrong ?? "a control message cannot be read" }
        }
    }

    private struct Unreadable: Error {}

    private mutating func arrive(_ letter: Letter, of author: ParticipantID, stamp: MessageStamp, _ device: Int) {
        let before = ledger.entries[letter.id].arrivals[device]
        let own = devices[device].own.policy
        let admission = devices[device].admit(letter, of: author, stamp: stamp)
        if before?.endedAt != nil, admission == .kept {
            wrong = wrong ?? "message \(letter.id) comes back to device \(device)"
        }
        if before == nil {
            ledger.entries[letter.id].arrivals[device] = .init(
                at: truth, ownPolicy: own, settings: devices[device].settings)
        }
        if admission == .arrivedExpired { ended([letter.id], device) }
    }

    private mutating func connect(_ device: Int, _ isOn: Bool) {
        devices[device].isConnected = isOn
        guard isOn, devices[device].isOn else { return }
        devices[device].readClocks(at: truth)
        let now = devices[device].clock.device
        for (letter, writtenAt) in devices[device].unsent {
            guard let stamp = try? MessageStamp.decoded(letter.stamp) else { continue }
            var letter = letter
            letter.stamp = MessageStamp(policy: stamp.policy, age: .milliseconds(now - writtenAt)).data
            ledger.entries[letter.id].letter = letter
            for other in devices.indices where other != device {
                queues[other].append(Packet(sender: device, content: .message(letter)))
            }
        }
        devices[device].unsent = []
        for index in devices.indices where devices[index].isOn { broadcast(index) }
    }

    // MARK: Time and power

    mutating func power(_ device: Int, _ isOn: Bool) {
        guard devices[device].isOn != isOn else { return }
        devices[device].isOn = isOn
        guard isOn else { return }
        devices[device].boot += 1
        devices[device].startedAt = truth
        restart(device)
    }

    private mutating func restart(_ device: Int) {
        devices[device].clock = devices[device].storedClock
        lose(devices[device].forgetMemory(), device)
        tick(device)
    }

    /// What was in memory is over, whenever.
    private mutating func lose(_ messages: [Int], _ device: Int) {
        for id in messages { ledger.entries[id].arrivals[device]?.endedAt = truth }
    }

    mutating func pass(_ duration: Milliseconds) {
        let end = truth + duration
        while truth < end {
            let timers = devices.filter(\.isOn).compactMap(\.timer)
            truth = min(end, truth + max(1, timers.min() ?? duration))
            for index in devices.indices { tick(index) }
        }
    }

    mutating func tick(_ device: Int) {
        guard devices[device].isOn else { return }
        devices[device].readClocks(at: truth)
        ended(devices[device].purge(), device)
        check(device)
    }
}
