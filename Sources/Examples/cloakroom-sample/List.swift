import CloakroomKit
import Foundation

/// `cloakroom-sample list`
enum List {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(help) }
        guard options.operands.isEmpty else { throw UsageError("list has no operands") }
        let account = try Account.load(options)
        let (client, layout) = try await account.photos(over: SampleTransport(), try Account.folder(options))
        for try await photo in client.list(prefix: layout.photos) {
            let date = photo.lastModified?.formatted(.iso8601) ?? "-"
            Console.print("\(date) \(photo.byteCount) \(photo.key)")
        }
        return 0
    }

    private static let help = """
        Usage: cloakroom-sample list

        Writes a line for each photo that S3 has: when it was stored, how many bytes, its key.

        Example:
          cloakroom-sample list | wc -l
        """
}
