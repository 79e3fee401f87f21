import CloakroomKit
import Foundation

/// `cloakroom-sample outbox list` and `cloakroom-sample outbox retry`
enum OutboxList {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(help) }
        for item in try await OutboxCommand.open(options).items() { Console.print(line(item)) }
        return 0
    }

    static func retry(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(retryHelp) }
        let outbox = try OutboxCommand.open(options)
        let named = options.operands.map { OutboxItem.ID(rawValue: $0) }
        let ids = named.isEmpty ? try await outbox.failedItems().map(\.id) : named
        var status: Int32 = 0
        for id in ids where try await !outbox.retry(id) {
            Console.printError("there is no item \(id.rawValue)")
            status = 1
        }
        return status
    }

    static func line(_ item: OutboxItem) -> String {
        let name =
            switch item.kind {
            case .photo(let md5): "photo \(md5)"
            case .asset(let reference): "asset \(reference)"
            }
        let state =
            switch item.state {
            case .waiting(nil, _): "waiting"
            case .waiting(let date?, let error): "waiting until \(date)" + (error.map { ": \($0)" } ?? "")
            case .sending(let progress): "sending \(progress.bytesDone) of \(progress.bytesTotal) bytes"
            case .failed(let error): "failed: \(error)"
            case .uploaded(let asset): "uploaded to \(asset.assetURL.absoluteString)"
            }
        return "\(item.id.rawValue)  \(name)  \(item.byteCount) bytes  \(state)"
    }

    private static let help = """
        Usage: cloakroom-sample outbox list

        Lists what has not been sent, in the order in which it is, and what has failed.

        Example:
          cloakroom-sample outbox list
        """

    private static let retryHelp = """
        Usage: cloakroom-sample outbox retry [ID…]

        Lets items be sent by the next run, whatever they wait for; without one, all that have failed.

        Example:
          cloakroom-sample outbox retry
          cloakroom-sample outbox run
        """
}
