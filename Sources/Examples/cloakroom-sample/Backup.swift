import CloakroomKit
import Foundation

/// `cloakroom-sample backup`
enum Backup {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(help) }
        guard let folder = options.operands.first, options.operands.count == 1 else {
            throw UsageError("backup needs one folder")
        }
        let account = try Account.load(options)
        let state = try Account.folder(options)
        let (client, layout) = try await account.photos(over: SampleTransport(), state)
        let backup = PhotoBackup(client: client, layout: layout, index: index(of: account, in: state))

        let (values, observer) = BackupProgress.stream()
        let bar = Task { await ProgressBar.show(values) }
        let report = await backup.backUp(folder: URL(fileURLWithPath: folder), progress: observer)
        bar.cancel()
        await bar.value

        if let error = report.indexFailure { Console.printError("some files will be read anew: \(error)") }
        for failure in report.failures { Console.printError("\(failure.file.path): \(failure.error)") }
        if let error = report.stoppedBy {
            Console.printError("ended early, \(report.remaining) files are left: \(error)")
        }
        Console.print(
            "backed up \(report.backedUp), already there \(report.alreadyThere), failed \(report.failures.count)")
        return report.isComplete ? 0 : 1
    }

    /// It only spares time: on a full disk, photos are backed up without it.
    private static func index(of account: Account, in folder: URL) -> PhotoIndex? {
        do { return try PhotoIndex(at: folder.appendingPathComponent("photos.sqlite"), owner: account.owner) } catch {
            Console.printError("every file is read anew: \(error)")
            return nil
        }
    }

    private static let help = """
        Usage: cloakroom-sample backup FOLDER

        Stores each photo in FOLDER, and in the folders in it, that S3 does not have yet. Run it again to continue.

        Example:
          cloakroom-sample backup ~/Pictures
        """
}
