import CloakroomKit
import Foundation

/// `cloakroom-sample sign-out`
enum SignOut {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state", "after-sending"], flags: ["keep", "discard"])
        if options.wantsHelp { return Console.print(help) }
        let outbox = try OutboxCommand.open(options)
        let unsent = try await outbox.unsent()
        guard let mode = try mode(options) ?? (unsent.isEmpty ? .keepingUnsent : nil) else {
            Console.printError(
                "\(unsent.items) items of \(unsent.bytes) bytes are unsent: --after-sending SECONDS, --keep or --discard"
            )
            return 1
        }
        let report = try await outbox.signOut(mode)
        try await Account.load(options).forget(options)
        if let error = report.stoppedBy { Console.printError("not all was sent: \(error)") }
        for item in report.removed { Console.print("removed \(OutboxList.line(item))") }
        Console.print("signed out; sent \(report.sent), kept \(report.kept.items), removed \(report.removed.count)")
        return 0
    }

    /// - Returns: `nil` without one of the options.
    private static func mode(_ options: Options) throws -> OutboxSignOut? {
        var modes: [OutboxSignOut] = []
        if let text = options.values["after-sending"] {
            guard let seconds = UInt16(text) else { throw UsageError("--after-sending needs a number of seconds") }
            modes.append(.afterSending(within: .seconds(Int64(seconds))))
        }
        if options.flags.contains("keep") { modes.append(.keepingUnsent) }
        if options.flags.contains("discard") { modes.append(.discardingUnsent) }
        guard modes.count < 2 else { throw UsageError("--after-sending, --keep and --discard exclude each other") }
        return modes.first
    }

    private static let help = """
        Usage: cloakroom-sample sign-out [--after-sending SECONDS | --keep | --discard]

        Forgets the account. Where the outbox has something unsent, one of the options says what becomes of it.

        Options:
          --after-sending SECONDS   sends for so long; the rest waits for the same user
          --keep                    all of it waits for the same user, who goes on with it after signing in again
          --discard                 removes it, and lists what that was

        Example:
          cloakroom-sample sign-out --after-sending 30
        """
}
