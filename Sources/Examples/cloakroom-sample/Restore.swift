import CloakroomKit
import Foundation

/// `cloakroom-sample restore`
enum Restore {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(help) }
        guard let folder = options.operands.first, options.operands.count == 1 else {
            throw UsageError("restore needs one folder")
        }
        let account = try Account.load(options)
        let (client, layout) = try await account.photos(over: SampleTransport(), try Account.folder(options))
        let restore = PhotoRestore(client: client, layout: layout)

        let (values, observer) = BackupProgress.stream()
        let bar = Task { await ProgressBar.show(values) }
        let report = await restore.restore(to: URL(fileURLWithPath: folder), progress: observer)
        bar.cancel()
        await bar.value

        for failure in report.failures { Console.printError("\(failure.key): \(failure.error)") }
        if let error = report.stoppedBy { Console.printError("ended early, \(report.remaining) are left: \(error)") }
        Console.print(
            "restored \(report.restored), already there \(report.alreadyThere), failed \(report.failures.count)")
        return report.isComplete ? 0 : 1
    }

    private static let help = """
        Usage: cloakroom-sample restore FOLDER

        Fetches each photo that FOLDER does not have, under its MD5. Run it again to continue.

        Example:
          cloakroom-sample restore ~/Restored
        """
}
