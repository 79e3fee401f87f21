import CloakroomKit
import CloakroomTiers
import Foundation

/// `cloakroom-sample tier list`
enum TierList {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(help) }
        guard options.operands.isEmpty else { throw UsageError("tier list has no operands") }
        let store = try TierStore.open(options)
        var cursor: TimelineCursor?
        while true {
            let page = try await store.thumbnails(before: cursor)
            for photo in page {
                let thumbnail = photo.thumbnail.map { "thumbnail \($0.count)" } ?? "no thumbnail"
                Console.print(
                    "\(photo.id.rawValue) \(photo.takenAt.formatted(.iso8601)) \(word(photo.place)) \(photo.byteCount) "
                        + "\(thumbnail)\(photo.isPinned ? " pinned" : "")")
            }
            guard let last = page.last else { return 0 }
            cursor = last.cursor
        }
    }

    private static func word(_ place: PhotoPlace) -> String {
        switch place {
        case .device: "device"
        case .both: "both"
        case .cold: "cold"
        case .missing: "missing"
        }
    }

    private static let help = """
        Usage: cloakroom-sample tier list

        Writes a line for each photo, newest first: its number on this device, when it was taken, where it is (device, both,
        cold: in S3 alone, missing), how many bytes it has, and how many its thumbnail has.

        Example:
          cloakroom-sample tier list | grep -c " cold "
        """
}
