import CloakroomLoop
import CloakroomMessages

/// The messengers of a world: on few of its devices, two of which may be of one user.
@LoopActor
final class Messengers {
    private let office: PostOffice
    private let conversations: [Conversation]
    private let devices: [ConversationID: [String]]
    private let all: [Messenger]

    /// - Parameter devices: of the world, by their names in the order of these, with their users.
    init(_ devices: [(name: String, user: String)], _ draw: Draw, in world: World) {
        office = PostOffice(draw)
        var random = draw.generator("conversations")
        let relays = (Bool.random(using: &random), Bool.random(using: &random))
        // Those of three users, and another one of the first.
        let users = Array(devices.map(\.user).uniqued.prefix(3))
        var members = users.compactMap { user in devices.first { $0.user == user } }
        if let second = devices.first(where: { $0.user == users.first && $0.name != members.first?.name }) {
            members.append(second)
        }
        let conversations = [
            Conversation("c_1", of: users, hasRelay: relays.0),
            Conversation("c_2", of: Array(users.prefix(2)), hasRelay: relays.1),
        ]
        guard users.count > 1 else {
            (self.conversations, self.devices, all) = ([], [:], [])
            return
        }
        let places = Dictionary(
            uniqueKeysWithValues: conversations.map { conversation in
                (conversation.id, members.filter { conversation.users.contains($0.user) }.map(\.name))
            })
        (self.conversations, self.devices) = (conversations, places)
        let office = office
        all = members.map {
            Messenger($0.name, of: $0.user, conversations, devices: places, office, draw, in: world)
        }
    }

    func start(until end: UInt64) { for messenger in all { messenger.start(until: end) } }

    /// After all faults: all meet, twice, as a letter may have been refused by a clock that was wrong.
    func finish(_ oracle: Oracle) async {
        for messenger in all { while messenger.isRunning { await messenger.sleep(10) } }
        office.calm()
        for _ in 0..<2 {
            await withTaskGroup(of: Void.self) { group in
                for messenger in all { group.addTask { await messenger.launchLast() } }
            }
        }
        let users = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.user) })
        for conversation in conversations {
            oracle.convergence(of: conversation, devices: devices[conversation.id] ?? [], users: users)
        }
        for messenger in all {
            Finding.require(
                messenger.outgoing.allSatisfy { messenger.putOff.contains($0.number) }
                    && office.count(for: messenger.name) == 0,
                "\(messenger.name): letters are left after the faults")
        }
    }
}

extension Sequence where Element: Hashable {
    /// Each once, in the order of the first.
    fileprivate var uniqued: [Element] {
        var met: Set<Element> = []
        return filter { met.insert($0).inserted }
    }
}
