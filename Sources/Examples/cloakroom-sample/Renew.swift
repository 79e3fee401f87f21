import CloakroomKit
import Foundation

/// `cloakroom-sample renew`
enum Renew {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"], flags: ["now"])
        if options.wantsHelp { return Console.print(help) }
        guard options.operands.count <= 1 else { throw UsageError("renew has at most one file") }
        let account = try Account.load(options)
        let folder = try Account.folder(options)
        let urls =
            if let file = options.operands.first {
                try UploadedURLs.urls(in: URL(fileURLWithPath: file))
            } else {
                try UploadedURLs(folder).urls()
            }
        let renewals = try Renewals(account, account.client(over: SampleTransport()), folder, urls)
        let report =
            options.flags.contains("now")
            ? await renewals.manager.forceRenewal() : await renewals.manager.renewIfNeeded()

        for key in report.notFound { Console.printError("\(key): not there any more") }
        for key in report.refused + report.failed { Console.printError("\(key.key): \(key.reason)") }
        if let error = report.error { Console.printError("\(error)") }
        // Keys, and URLs without one; two equal URLs are one key.
        let failed =
            report.notFound.count + report.refused.count + report.failed.count + report.notSent
            + report.assetsOutsideBaseURLs
            + report.assetsWithoutKey
        Console.print("renewed \(report.renewed), not due \(report.notDue), failed \(failed)")
        return failed == 0 && report.error == nil ? 0 : 1
    }

    private static let help = """
        Usage: cloakroom-sample renew [--now] [FILE]

        Gives images another 30 days, those that were renewed or uploaded 15 days ago or longer. FILE has their URLs, one a
        line; without it, they are those that were uploaded.

        Options:
          --now   all of them

        Example:
          cloakroom-sample renew --now
        """
}
