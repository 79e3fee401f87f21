import CloakroomMessages

/// One thing that happens in a schedule. Whatever steps are left out of a schedule, the others can still happen.
enum Step: Hashable, Sendable {
    /// The user of a device wants another policy.
    case policy(device: Int, Policy, history: Bool)
    /// A device writes a message, perhaps one that quotes the so-manieth of those that it holds.
    case send(device: Int, quotes: Int?)
    /// The so-manieth packet for a device arrives; perhaps it also stays on its way, to arrive once more.
    case deliver(device: Int, packet: Int, again: Bool)
    case deliverAll(device: Int)
    /// A message that was sent at any time arrives again.
    case replay(device: Int, message: Int)
    /// A device sends all participants what its user wants.
    case connect(device: Int)
    /// Time, everywhere.
    case pass(seconds: Int)
    /// The wall clock of a device is so far from the truth.
    case setClock(device: Int, seconds: Int)
    case power(device: Int, isOn: Bool)
    /// The process of a device ends, and another begins: what was in memory only is lost.
    case kill(device: Int)
    /// Whether a device reaches its peers.
    case network(device: Int, isOn: Bool)
    /// Whether a device hears of the server's time.
    case server(device: Int, isOn: Bool)
    /// The user of a device closes the conversation.
    case close(device: Int)

    enum Policy: Int, CaseIterable, Sendable {
        case noStorage, oneMinute, oneHour, oneDay, threeDays, oneWeek, keep

        var value: MessageRetentionPolicy {
            switch self {
            case .noStorage: .noStorage
            case .oneMinute: MessageRetentionPolicy(afterSent: .seconds(60)) ?? .oneHour
            case .oneHour: .oneHour
            case .oneDay: .oneDay
            case .threeDays: MessageRetentionPolicy(afterSent: .seconds(259_200)) ?? .oneDay
            case .oneWeek: .oneWeek
            case .keep: .keep
            }
        }
    }
}

/// The steps of one seed, and how the devices are set up.
struct Schedule: Sendable {
    var setup: Setup
    var steps: [Step]
    let seed: UInt64

    struct Setup: Hashable, Sendable {
        /// Messages have the time of a relay.
        var hasRelay: Bool
        /// The last device does not let peers remove anything within an hour.
        var hasMinimum: Bool
        /// By how much each wall clock is wrong at first, in seconds.
        var skews: [Int]
        /// The devices that hear of the server's time at first.
        var servers: [Bool]
    }

    static let length = 200

    init(seed: UInt64) {
        self.seed = seed
        var dice = Dice(seed: seed)
        let areClocksWrong = dice.isLucky(2, of: 3)
        setup = Setup(
            hasRelay: dice.isLucky(1, of: 2), hasMinimum: dice.isLucky(1, of: 4),
            skews: (0..<Fleet.owners.count).map { _ in areClocksWrong ? Step.skew(&dice) : 0 },
            servers: (0..<Fleet.owners.count).map { _ in dice.isLucky(1, of: 2) })
        let mood = Mood(&dice, areClocksWrong: areClocksWrong)
        steps = (0..<Self.length).map { _ in Step(mood, &dice) }
    }
}

/// What kind of schedule it is: each has a few kinds of mishap only, else nothing would ever live long.
struct Mood {
    var (clocks, kills, powers, partitions, replays) = (false, false, false, false, false)
    var policies: [Step.Policy]
    var longest: Int

    init(_ dice: inout Dice, areClocksWrong: Bool) {
        clocks = areClocksWrong && dice.isLucky(2, of: 3)
        kills = dice.isLucky(1, of: 3)
        powers = dice.isLucky(1, of: 2)
        partitions = dice.isLucky(1, of: 2)
        replays = dice.isLucky(2, of: 3)
        policies = Step.Policy.allCases.filter { _ in dice.isLucky(1, of: 2) }
        if policies.isEmpty { policies = [.oneDay, .keep] }
        longest = dice.choice([(4, 3_600), (4, 86_400), (3, 5 * 86_400), (1, 200 * 86_400)])
    }
}

extension Step {
    static func skew(_ dice: inout Dice) -> Int {
        dice.choice([(2, 0), (1, 86_400), (1, -86_400), (3, dice.number(-86_400..<86_401))])
    }

    init(_ mood: Mood, _ dice: inout Dice) {
        let device = dice.number(0..<Fleet.owners.count)
        let isOn = dice.isLucky(2, of: 3)
        self = dice.choice([
            (14, .policy(device: device, dice.element(mood.policies), history: dice.isLucky(1, of: 3))),
            (26, .send(device: device, quotes: dice.isLucky(1, of: 4) ? dice.number(0..<8) : nil)),
            (24, .deliver(device: device, packet: dice.number(0..<12), again: dice.isLucky(1, of: 8))),
            (14, .deliverAll(device: device)),
            (4, .connect(device: device)),
            (22, .pass(seconds: dice.isLucky(1, of: 3) ? mood.longest : dice.number(1..<mood.longest))),
            (3, .close(device: device)),
            (5, .server(device: device, isOn: isOn)),
            (mood.replays ? 10 : 0, .replay(device: device, message: dice.number(0..<60))),
            (mood.clocks ? 8 : 0, .setClock(device: device, seconds: Step.skew(&dice))),
            (mood.powers ? 8 : 0, .power(device: device, isOn: isOn)),
            (mood.kills ? 5 : 0, .kill(device: device)),
            (mood.partitions ? 8 : 0, .network(device: device, isOn: isOn)),
        ])
    }
}
