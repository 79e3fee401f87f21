import CloakroomJSON
import CloakroomRedis
import CloakroomServer

/// `cloakroom events dead`
enum EventsDead: Command {
    static let syntax = CommandSyntax(
        "events dead", "show the dead events, or have them posted again", values: ["limit": .text], flags: ["retry"])

    private static let page = 100

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try EventsCommandLine(options)
        let limit = try options.number("limit", 1...1_000_000, default: .max)
        let retries = options.flags.contains("retry")
        return line.withStream(writes: retries) { stream async throws(RedisError) in
            var (last, count) = (String?.none, 0)
            while count < limit {
                let dead = try await stream.dead(after: last, count: min(page, limit - count))
                guard let end = dead.last else { break }
                for event in dead {
                    switch retries ? try await stream.revive(event) : .done {
                    case .done: Output.print(text(event))
                    case .gone: continue
                    case .full:
                        let left = try await stream.status().deadCount
                        return Output.fail(
                            "as many events wait as may (events.streamMaximumLength), and more would be lost: \(left) stay dead; "
                                + "run this again when those are delivered")
                    }
                }
                (last, count) = (end.id, count + dead.count)
            }
            return .success
        }
    }

    private static func text(_ dead: EventStream.Dead) -> String {
        let event = (try? JSON(parsing: dead.text)) ?? .string(String(decoding: dead.text, as: UTF8.self))
        let json: JSON = [
            "reason": .string(dead.reason), "attempts": .number(Double(dead.attempts)), "event": event,
        ]
        return json.text
    }

    static let help = """
        Usage: cloakroom events dead [--limit N] [--retry] SETTINGS

        Prints the events that the webhook did not take in time, oldest first, one JSON object a line: reason, attempts,
        event. The reason is attempts, age, or malformed for what no worker wrote.

        Options:
          --limit N  the oldest N; all without it
          --retry    moves them back, so that workers post them again from the first attempt on

        Exit status: 0 done, 1 Redis does not respond, there are no events, or no more may wait, 2 the command line was not
        understood.

        Examples:
          cloakroom events dead cloakroom.json5 | jq .event.type
          cloakroom events dead --retry --limit 100 cloakroom.json5
        """
}
