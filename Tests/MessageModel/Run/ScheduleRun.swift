import CloakroomMessages

/// Where the devices and the truth part.
struct Violation: Sendable, Equatable {
    /// After so many steps; all of them when it shows in the end.
    var step: Int
    var text: String

    /// The same for failures that differ in devices, messages and times alone.
    var kind: String { text.filter { !$0.isNumber && $0 != "-" } }
}

/// What schedules did, all together: that nothing failed says little when nothing happened.
struct Experience: Equatable, Sendable {
    var messages = 0
    var purges = 0
    var cuts = 0
}

struct ScheduleRunner {
    private(set) var experience = Experience()
    private(set) var measures = TotalMeasures()
    let conversation: ConversationID

    init?() {
        guard let conversation = ConversationID(rawValue: "c1") else { return nil }
        self.conversation = conversation
    }

    /// - Returns: `nil` when everything held.
    mutating func run(_ steps: [Step], _ setup: Schedule.Setup) -> Violation? {
        var fleet = Fleet(setup, conversation: conversation)
        defer {
            experience.messages += fleet.ledger.entries.count
            experience.purges += fleet.ledger.purges
            experience.cuts += fleet.ledger.cuts.count
        }
        for (number, step) in steps.enumerated() {
            fleet.perform(step)
            if let text = fleet.wrong { return Violation(step: number + 1, text: text) }
        }
        fleet.heal()
        return fleet.wrong.map { Violation(step: steps.count, text: $0) }
    }

    /// Runs all of a schedule, whatever goes wrong in it, and adds what it did to ``measures``.
    mutating func measure(_ schedule: Schedule) {
        var fleet = Fleet(schedule.setup, conversation: conversation)
        for step in schedule.steps { fleet.perform(step) }
        fleet.heal()
        measures.add(fleet.measures, hasFailed: fleet.wrong != nil)
    }
}
