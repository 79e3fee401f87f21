import CloakroomKit
import Foundation

/// `cloakroom-sample outbox add`
enum OutboxAdd {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state", "type", "priority"], flags: ["asset"])
        if options.wantsHelp { return Console.print(help) }
        guard !options.operands.isEmpty else { throw UsageError("outbox add needs a file") }
        let priority = try priority(options.values["priority"])
        let outbox = try OutboxCommand.open(options)
        var status: Int32 = 0
        for path in options.operands {
            let file = URL(fileURLWithPath: path)
            do {
                let id: OutboxItem.ID
                if options.flags.contains("asset") {
                    let content = try UploadContent(
                        contentsOf: file, contentType: options.values["type"] ?? "image/jpeg")
                    id = try await outbox.add(asset: content, reference: file.path, priority: priority)
                } else {
                    id = try await outbox.add(
                        photo: file, contentType: options.values["type"] ?? "application/octet-stream",
                        priority: priority)
                }
                Console.print("\(id.rawValue)  \(path)")
            } catch let error as CloakroomError {
                Console.printError("\(path): \(error)")
                status = 1
            }
        }
        return status
    }

    private static func priority(_ text: String?) throws -> OutboxPriority {
        switch text {
        case nil, "normal": return .normal
        case "low": return .low
        case "high": return .high
        case let other?: throw UsageError("\(other) is no priority: low, normal or high")
        }
    }

    private static let help = """
        Usage: cloakroom-sample outbox add [--asset] [--type T] [--priority P] FILE…

        Copies files into the outbox. Each may be deleted as soon as this has returned.

        Options:
          --asset        as assets: uploaded through a presigned URL, and shown to others by theirs
          --type T       their content type; image/jpeg for assets, application/octet-stream for photos
          --priority P   low, normal or high

        Example:
          cloakroom-sample outbox add --priority high holiday.jpg
          cloakroom-sample outbox add --asset me.jpg
        """
}
