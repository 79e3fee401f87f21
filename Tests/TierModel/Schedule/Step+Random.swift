import CloakroomKitTestSupport
import CloakroomTiers

extension SeededGenerator {
    mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }
    mutating func isLucky(_ chance: Int, of all: Int) -> Bool { number(0..<all) < chance }

    /// One of these, each as often as its weight says.
    mutating func choice<Value>(_ values: [(weight: Int, value: Value)]) -> Value? {
        var rest = number(0..<max(1, values.reduce(0) { $0 + $1.weight }))
        for (weight, value) in values {
            rest -= weight
            if rest < 0 { return value }
        }
        return nil
    }
}

/// What kind of schedule it is: each has a few kinds of mishap only, else nothing would ever get done.
struct Mood {
    var devices: Int
    var photos: [Int]
    /// Of a hundred turns, those that fail.
    var failures = 0
    var (clocks, rules, kills, losses, seconds, dismissals) = (false, false, false, false, false, false)
    /// Devices that share one photo, and do little else than to add it, to remove it and to let it go.
    let isAboutSharing: Bool

    init(_ dice: inout SeededGenerator) {
        var numbers = Array(Photos.bytes.indices)
        numbers.shuffle(using: &dice)
        isAboutSharing = dice.isLucky(1, of: 3)
        if isAboutSharing {
            devices = [2, 2, 2, 3][dice.number(0..<4)]
            photos = [dice.number(0..<4)]
            kills = dice.isLucky(1, of: 4)
            return
        }
        devices = [1, 2, 2, 3][dice.number(0..<4)]
        photos = Array(numbers.prefix([1, 1, 2, 3][dice.number(0..<4)]))
        failures = [0, 0, 3, 15][dice.number(0..<4)]
        clocks = dice.isLucky(1, of: 4)
        rules = dice.isLucky(1, of: 3)
        kills = dice.isLucky(1, of: 3)
        losses = dice.isLucky(1, of: 5)
        seconds = dice.isLucky(1, of: 6)
        dismissals = dice.isLucky(1, of: 6)
    }
}

/// The steps of one seed.
struct Schedule: Sendable {
    var steps: [Step]
    let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        var dice = SeededGenerator(seed: seed)
        let mood = Mood(&dice)
        if mood.isAboutSharing {
            steps = (0..<dice.number(8..<30)).flatMap { _ in Self.sharing(mood, &dice) }
        } else {
            steps = (0..<dice.number(15..<60)).map { _ in Step(mood, &dice) }
        }
    }

    /// An operation that comes to its end, or gets as far as that; and now and then, time.
    private static func sharing(_ mood: Mood, _ dice: inout SeededGenerator) -> [Step] {
        let device = dice.number(0..<mood.devices)
        let name = PhotoName(photo: mood.photos[0], letter: 0)
        let operation: Operation =
            dice.choice([
                (20, .add(name)), (20, .remove(name)), (35, .run), (20, .freeSpace), (2, .open(name)), (2, .rebuild),
            ]) ?? .run
        var steps: [Step] = [.begin(device: device, process: 0, operation)]
        let place = CallPlace.meetings[dice.number(0..<CallPlace.meetings.count)]
        steps.append(
            dice.choice([
                // What other devices wait for goes on waiting.
                (10, .advance(device: device, calls: 200)), (1, .drain),
                (2, .advance(device: device, calls: dice.number(1..<24))),
                (8, .advanceUntil(device: device, place)),
            ]) ?? .drain)
        if dice.isLucky(1, of: 5) { steps.append(.pass(hours: [49, 49, 49, 31 * 24][dice.number(0..<4)])) }
        if mood.kills, dice.isLucky(1, of: 6) { steps.append(.killAtStep(device: device, dice.number(1..<8))) }
        return steps
    }
}

extension Step {
    init(_ mood: Mood, _ dice: inout SeededGenerator) {
        let device = dice.number(0..<mood.devices)
        let photo = mood.photos.randomElement(using: &dice) ?? 0
        let process = mood.seconds && dice.isLucky(1, of: 3) ? 1 : 0
        let failure: Turnstile.Outcome = [.unreachable, .timedOut, .unavailable][dice.number(0..<3)]
        let outcome = dice.isLucky(mood.failures, of: 100) ? failure : .success
        let hours = [1, 13, 25, 49, 49, 49, 8 * 24, 31 * 24, 31 * 24][dice.number(0..<9)]
        let clock = [-400, -50, -2, 2, 50, 400][dice.number(0..<6)]
        let operation = Operation(mood, photo, &dice)
        let event = StoreEvent(photo, &dice)
        let isOn = dice.isLucky(2, of: 3)
        let common: [(weight: Int, value: Step)] = [
            (40, .begin(device: device, process: process, operation)),
            (12, .turn(dice.number(0..<8), outcome)),
            (22, .advance(device: device, calls: dice.number(1..<24))),
            (14, .drain),
            (10, .pass(hours: hours)),
        ]
        let mishaps: [(weight: Int, value: Step)] = [
            (mood.clocks ? 6 : 0, .setClock(device: device, hours: clock)),
            (mood.rules ? 8 : 0, .store(event)),
            (mood.failures > 0 ? 3 : 0, .network(device: device, isOn: isOn)),
            (mood.failures > 0 ? 2 : 0, .power(device: device, isOn: isOn)),
            (mood.kills ? 5 : 0, .kill(device: device)),
            (mood.kills ? 8 : 0, .killAtStep(device: device, dice.number(1..<8))),
            (mood.losses ? 3 : 0, .damageFile(device: device, photo: photo)),
            (mood.losses ? 2 : 0, .damageCatalog(device: device)),
            (mood.losses ? 2 : 0, .wipe(device: device)),
            (mood.seconds ? 5 : 0, .secondProcess(device: device)),
        ]
        self = dice.choice(common + mishaps) ?? .drain
    }
}

extension Operation {
    fileprivate init(_ mood: Mood, _ photo: Int, _ dice: inout SeededGenerator) {
        let name = PhotoName(photo: photo, letter: dice.isLucky(1, of: 5) ? 1 : 0)
        let period = RetentionPolicy.Period.allCases.randomElement(using: &dice) ?? .month
        let limit: Int64? = dice.isLucky(1, of: 3) ? Int64(dice.number(0..<200)) : nil
        let time: RetentionPolicy.UploadTime = dice.isLucky(1, of: 2) ? .whenAdded : .whenDue
        self =
            dice.choice([
                (25, .add(name)), (12, .remove(name)), (12, .open(name)), (5, .close),
                (3, .pin(name, dice.isLucky(1, of: 2))), (25, .run), (3, .background), (12, .freeSpace), (1, .preview),
                (2, .restoreAll), (3, .rebuild), (4, .policy(period, byteLimit: limit, time)), (3, .dismissAlarms),
                (mood.dismissals ? 5 : 0, .dismissDevice(dice.number(0..<3))), (mood.seconds ? 6 : 0, .releaseLock),
                (mood.seconds ? 6 : 0, .leave(name)),
            ]) ?? .run
    }
}

extension StoreEvent {
    fileprivate init(_ photo: Int, _ dice: inout SeededGenerator) {
        self =
            dice.choice([
                (4, .destroy(photo: photo)), (2, .damage(photo: photo)),
                (3, .expire(photo: photo, hours: dice.number(1..<72))), (2, .archive(photo: photo)),
                (1, .damageDocument(dice.number(0..<8))), (2, .quota(isFull: true)), (2, .quota(isFull: false)),
                (4, .heal),
            ]) ?? .heal
    }
}
