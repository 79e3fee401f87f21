import CloakroomKit
import CloakroomTiers
import Foundation

/// `cloakroom-sample tier`: finds the command; each has a file of its own.
enum Tier {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let rest = Array(arguments.dropFirst())
        do {
            switch arguments.first {
            case "add": return try await TierAdd.run(rest)
            case "list": return try await TierList.run(rest)
            case "open": return try await TierOpen.run(rest)
            case "run": return try await TierRun.run(rest)
            case "free": return try await TierFree.run(rest)
            case "restore": return try await TierRestore.run(rest)
            case "usage": return try await TierUsage.run(rest)
            case "rebuild": return try await TierRebuild.run(rest)
            case "--help", "-h", "help": return Console.print(help)
            case let other?: throw UsageError("tier has no command \(other)")
            case nil: throw UsageError("a command of tier is missing")
            }
        } catch let error as CloakroomError {
            TierOutput.printError(error)
            return 1
        }
    }

    private static let help = """
        Usage: cloakroom-sample tier COMMAND …

        Photos in tiers: recent ones on this device, older ones in S3 alone, thumbnails always here. A photo leaves the
        device 30 days after it was added, unless it was opened in the last 7, and never before S3 has been shown to have
        it. The photos are in the folder "tier" of the sample's records. On Linux thumbnails are made by vipsthumbnail
        (Debian: libvips-tools); a photo without one stays on the device, and another attempt is made once a week.

        Commands:
          add PATH…         copies photos into the store
          list              the timeline, newest first
          open NAME FILE    copies a photo out of it, fetched from S3 where it must be
          run               uploads, and removes what is due and proven from the device
          free              shows how much space could be freed at once; --perform frees it
          restore           fetches all photos, and keeps them
          usage             how much is where, and what stops the store
          rebuild           makes the catalog anew from S3, as on a new device

        Options of every command:
          --state FOLDER    where the sample keeps its records; another folder is another device
          --help            the command's options

        Example, after sign-in:
          cloakroom-sample tier add --days-ago 31 ~/Pictures
          cloakroom-sample tier run
          cloakroom-sample tier usage
          cloakroom-sample tier open "2026/IMG_0042.jpg" /tmp/IMG_0042.jpg

        Exit status: 0 done, 1 failed or something is left to do, 2 the command line was not understood.
        """
}
