import CloakroomKit
import CloakroomTiers
import Foundation

/// `cloakroom-sample tier usage`
enum TierUsage {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(help) }
        guard options.operands.isEmpty else { throw UsageError("tier usage has no operands") }
        let store = try TierStore.open(options)
        let usage = try await store.usage()
        let policy = await store.policy
        Console.print(
            """
            photos          \(usage.photoCount)
            on the device   \(usage.hotCount), \(TierOutput.size(usage.hotBytes)) of disk
            in S3           \(usage.coldCount), \(TierOutput.size(usage.coldBytes))
            missing         \(usage.missingCount)
            no thumbnail    \(usage.withoutThumbnailCount), which stay on the device
            thumbnails      \(TierOutput.size(usage.thumbnailBytes))
            catalog         \(TierOutput.size(usage.catalogBytes)) of disk, thumbnails included
            stay here       \(policy.period.days.map { "\($0) days" } ?? "forever")
            """)
        TierOutput.printAlarms(try await store.alarms())
        return 0
    }

    private static let help = """
        Usage: cloakroom-sample tier usage

        Shows how many photos there are, how much of the disk and of S3 they take, how long they stay on the device, and the
        alarms that keep photos from leaving it.

        Example:
          cloakroom-sample tier usage
        """
}
