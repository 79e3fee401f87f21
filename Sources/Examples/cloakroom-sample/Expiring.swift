import CloakroomKit
import Foundation

/// `cloakroom-sample expiring`
enum Expiring {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(help) }
        guard options.operands.isEmpty else { throw UsageError("expiring has no operands") }
        let account = try Account.load(options)
        let folder = try Account.folder(options)
        let renewals = try Renewals(
            account, account.client(over: SampleTransport()), folder, try UploadedURLs(folder).urls())
        for asset in try await renewals.manager.schedule() {
            let expires = asset.expiration.map { "expires \($0.formatted(.iso8601))" } ?? "expiration unknown"
            Console.print("\(asset.key): due \(asset.due.formatted(.iso8601)), \(expires)")
        }
        return 0
    }

    private static let help = """
        Usage: cloakroom-sample expiring

        Writes a line for each uploaded image: when it is renewed next, and when it would expire.

        Example:
          cloakroom-sample expiring
        """
}
