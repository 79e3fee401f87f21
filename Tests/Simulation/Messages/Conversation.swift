import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomMessages
import Foundation

/// Users who write to one another.
struct Conversation: Sendable {
    let id: ConversationID
    let users: [String]
    let members: Set<ParticipantID>
    /// Whether its messages have the time at which a relay took them.
    let hasRelay: Bool

    init(_ name: String, of users: [String], hasRelay: Bool) {
        guard let id = ConversationID(rawValue: name) else { preconditionFailure("no name of a conversation: \(name)") }
        self.id = id
        self.users = users
        members = Set(users.map(Self.participant))
        self.hasRelay = hasRelay
    }

    static func participant(_ user: String) -> ParticipantID {
        guard let participant = ParticipantID(rawValue: user) else { preconditionFailure("no name of a user: \(user)") }
        return participant
    }
}

/// What one device sends to all others of a conversation over the app's encrypted channel.
struct Letter: Sendable {
    enum Content: Sendable {
        case control(Data)
        case message(id: MessageID, stamp: Data, body: Data, assetKeys: [String])
    }

    let conversation: ConversationID
    let sender: ParticipantID
    let content: Content
    /// When a relay took it.
    var relayTime: Date?

    /// `nil` for a control message.
    var messageID: MessageID? { if case .message(let id, _, _, _) = content { id } else { nil } }
    var isControl: Bool { messageID == nil }
}

/// The messenger's servers: a box of letters for each device, which come late, twice, in another order, or never.
@LoopActor
final class PostOffice {
    private struct Delivery {
        let number: Int
        var arrival: UInt64
        let letter: Letter
    }

    enum Outcome {
        case accepted
        /// Accepted, and the sender does not know.
        case unconfirmed
        case failed
    }

    private let draw: Draw
    private let lossRate: Double
    private var boxes: [String: [Delivery]] = [:]
    private var ways: [String: SeededGenerator] = [:]
    private var number = 0
    private var isCalm = false

    init(_ draw: Draw) {
        self.draw = draw
        var random = draw.generator("letters")
        lossRate = [0, 0.02, 0.1].randomElement(using: &random)!
    }

    /// Letters that are on their way, or wait for their device.
    func count(for device: String) -> Int { boxes[device]?.count ?? 0 }

    func send(_ letter: Letter, from sender: String, to devices: [String], hasRelay: Bool) -> Outcome {
        var own = ways[sender, default: draw.generator("letters of \(sender)")]
        let (before, after) = (Double.random(in: 0..<1, using: &own), Double.random(in: 0..<1, using: &own))
        ways[sender] = own
        let isFaulty = !isCalm && !Fault.letterLost.isLeftOut
        guard !isFaulty || before >= lossRate else { return .failed }
        var letter = letter
        if hasRelay { letter.relayTime = Date() }
        for device in devices where device != sender { add(letter, from: sender, to: device) }
        return isFaulty && after < lossRate ? .unconfirmed : .accepted
    }

    private func add(_ letter: Letter, from sender: String, to device: String) {
        let way = "letters of \(sender) to \(device)"
        var random = ways[way, default: draw.generator(way)]
        let isLost = Double.random(in: 0..<1, using: &random) < lossRate
        let isLate = Int.random(in: 0..<8, using: &random) == 0
        let isRepeated = Int.random(in: 0..<10, using: &random) == 0
        let (delay, late, again) = (
            random.seconds(in: 0.1...4), random.seconds(in: 60...40_000), random.seconds(in: 1...200_000)
        )
        ways[way] = random
        guard isCalm || !isLost || Fault.letterLost.isLeftOut else { return }
        if Plant.current == .policyIsNotHeard, letter.isControl, device == "d_1" { return }
        let isDelayed = isLate && !isCalm && !Fault.letterLate.isLeftOut
        deliver(letter, to: device, after: isDelayed ? late : delay)
        if isRepeated, !isCalm, !Fault.letterRepeated.isLeftOut { deliver(letter, to: device, after: again) }
    }

    private func deliver(_ letter: Letter, to device: String, after seconds: Double) {
        number += 1
        boxes[device, default: []].append(
            Delivery(number: number, arrival: VirtualTime.now + UInt64(seconds * 1e9), letter: letter))
    }

    /// What has arrived for a device, by the time of its arrival; it stays there until ``take(_:of:)``.
    func letters(for device: String) -> [(number: Int, letter: Letter)] {
        (boxes[device] ?? []).filter { $0.arrival <= VirtualTime.now }
            .sorted { ($0.arrival, $0.number) < ($1.arrival, $1.number) }.map { ($0.number, $0.letter) }
    }

    func take(_ numbers: Set<Int>, of device: String) { boxes[device]?.removeAll { numbers.contains($0.number) } }

    /// Whatever was on its way comes now, and nothing is lost any more.
    func calm() {
        isCalm = true
        for device in boxes.keys.sorted() {
            for index in (boxes[device] ?? []).indices { boxes[device]?[index].arrival = VirtualTime.now }
        }
    }
}
