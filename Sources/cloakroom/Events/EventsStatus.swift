import CloakroomJSON
import CloakroomOperations
import CloakroomRedis
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom events status`
enum EventsStatus: Command {
    static let syntax = CommandSyntax("events status", "how many events wait, and how many are dead", flags: ["json"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try EventsCommandLine(options)
        let isJSON = options.flags.contains("json")
        let webhook = line.events.webhook
        return line.withStream { stream async throws(RedisError) in
            let status = try await stream.status()
            let age = status.oldest.map { max(0, Int(Date().timeIntervalSince1970) - $0 / 1000) }
            if isJSON {
                let json: JSON = [
                    "stream": .string(stream.key), "webhook": webhook.map { .string($0.url) } ?? .null,
                    "events": .number(Double(status.length)), "pending": .number(Double(status.pendingCount)),
                    "oldestSeconds": age.map { .number(Double($0)) } ?? .null,
                    "dead": .number(Double(status.deadCount)),
                ]
                return Output.print(json.text)
            }
            let oldest = age.map { ", the oldest \(TimeSpan.text(Double($0))) old" } ?? ""
            guard let webhook else {
                return Output.print("stream   \(stream.key): \(status.length) events\(oldest)")
            }
            return Output.print(
                """
                stream   \(stream.key)
                webhook  \(webhook.url)
                waiting  \(status.length) events\(oldest)
                retried  \(status.pendingCount) of them were given to a worker before
                dead     \(status.deadCount)
                """)
        }
    }

    static let help = """
        Usage: cloakroom events status [--json] SETTINGS

        Shows the stream of events. With a webhook it holds what was not delivered yet, and beside it the dead events, which
        the webhook did not take in time; without one it holds what was not trimmed.

        Options:
          --json  one JSON object: stream, webhook, events, pending, oldestSeconds, dead

        Exit status: 0 shown, 1 Redis does not respond, or there are no events, 2 the command line was not understood.

        Examples:
          cloakroom events status cloakroom.json5
          cloakroom events status --json cloakroom.json5 | jq .dead
        """
}
