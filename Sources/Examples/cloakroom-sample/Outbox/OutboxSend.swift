import CloakroomKit
import Foundation

/// `cloakroom-sample outbox run`
enum OutboxSend {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(help) }
        let outbox = try OutboxCommand.open(options)
        let report = await outbox.run()
        // The app's own record of its assets: standard output.
        for asset in try await outbox.uploadedAssets() {
            Console.print("\(asset.reference)  \(asset.assetURL.absoluteString)")
            try await outbox.acknowledge(asset.id)
        }
        if let error = report.stoppedBy { Console.printError("ended early: \(error)") }
        for item in try await outbox.failedItems() { Console.printError(OutboxList.line(item)) }
        if let date = report.nextAttempt { Console.print("the next attempt is due at \(date)") }
        Console.print("sent \(report.sent), left \(report.unsent.items), failed \(report.unsent.failed)")
        return report.isComplete ? 0 : 1
    }

    private static let help = """
        Usage: cloakroom-sample outbox run

        Sends what is due, and ends when nothing is left that can be sent now. Run it again to go on.

        Example:
          cloakroom-sample outbox run
        """
}
