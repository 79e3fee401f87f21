import CloakroomKit
import Foundation

/// `cloakroom-sample outbox`: finds the command.
enum OutboxCommand {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "add": return try await OutboxAdd.run(rest)
        case "run": return try await OutboxSend.run(rest)
        case "list": return try await OutboxList.run(rest)
        case "retry": return try await OutboxList.retry(rest)
        case "--help", "-h", "help": return Console.print(help)
        case let other?: throw UsageError("outbox has no command \(other)")
        case nil: throw UsageError("a command of outbox is missing")
        }
    }

    /// The outbox of the user who is signed in, in the folder "outbox" of the sample's records.
    static func open(_ options: Options) throws -> Outbox {
        let account = try Account.load(options)
        let state = try Account.folder(options)
        let transport = SampleTransport()
        return try Outbox(
            folder: state.appendingPathComponent("outbox", isDirectory: true), owner: account.owner,
            photos: try account.s3(over: transport, state), assets: account.client(over: transport),
            carrier: TransportCarrier(transport: transport))
    }

    private static let help = """
        Usage: cloakroom-sample outbox COMMAND …

        A queue of uploads that survives everything: what was added is copied, and sent by the next run, however often
        the program ends meanwhile.

        Commands:
          add FILE…    adds photos, or with --asset assets, and returns when they are on the disk
          run          sends what is due, and writes the URLs of assets
          list         what is in it
          retry [ID…]  lets items be sent at once; without one, all that have failed

        Example:
          cloakroom-sample outbox add ~/Pictures/*.jpg
          cloakroom-sample outbox run
        """
}
