import CloakroomBenchSupport
import Foundation

/// Does what the bars of message retention measure, a scenario in a process of its own, and writes its numbers as lines
/// `NAME VALUE`.
@main enum MessageBench {
    private static let usage = """
        usage: message-bench SCENARIO FOLDER [NAME=VALUE]…

          fill         stores count messages that all end a week after they came, over a week, in so many conversations
          purge        purges the oldest, due of the count messages in FOLDER; writer=yes: while another connection writes
          delete       deletes the same rows from the same database by one statement, without the library
          deadline     looks for the next deadline of count messages in FOLDER, and of others in other=FOLDER, in turns
          keys         purges a hundredth of the messages of so many conversations with a message under each key
          insert       admits messages, and inserts the same rows by plain SQL, in turns
          remnants     looks for bodies after the life of a device, made from a seed
          idle         does nothing for so many seconds with messages that end in a week
        """

    static func main() async {
        do {
            let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
            // Not on the main thread: a change of threads would be measured with each call.
            let results = try await Task.detached { try await run(arguments) }.value
            for (name, value) in results.sorted(by: { $0.key < $1.key }) { print(name, value) }
        } catch {
            FileHandle.standardError.write(Data("message-bench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: Arguments) async throws -> [String: Double] {
        switch arguments.scenario {
        case "fill": try await Fill(arguments).run()
        case "purge": try await Purge(arguments).run()
        case "delete": try await PlainDelete(arguments).run()
        case "deadline": try await NextDeadline(arguments).run()
        case "keys": try await Keys(arguments).run()
        case "insert": try await Inserting(arguments).run()
        case "remnants": try await Remnants(arguments).run()
        case "idle": try await Idle(arguments).run()
        default: throw BenchError(usage)
        }
    }
}
