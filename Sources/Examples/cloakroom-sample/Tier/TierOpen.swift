import CloakroomKit
import CloakroomTiers
import Foundation

/// `cloakroom-sample tier open`
enum TierOpen {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state", "id"])
        if options.wantsHelp { return Console.print(help) }
        let id = try options.values["id"].map(number)
        guard options.operands.count == (id == nil ? 2 : 1), let target = options.operands.last else {
            throw UsageError("tier open needs a name, or --id, and a file")
        }
        guard !FileManager.default.fileExists(atPath: target) else {
            Console.printError("\(target) exists; give another file")
            return 1
        }
        let store = try TierStore.open(options)
        let photo = try await photo(id, options.operands[0], in: store)
        let byteCount = try await ProgressBar.during { report in
            for await step in store.load(photo, within: .seconds(60)) {
                switch step {
                case .thumbnail: report(ProgressBar.Value(fraction: 0, label: "thumbnail"))
                case .progress(let fraction): report(ProgressBar.Value(fraction: fraction, label: "fetching"))
                case .file(let file):
                    defer { file.close() }
                    try FileManager.default.copyItem(at: file.url, to: URL(fileURLWithPath: target))
                    return file.byteCount
                case .failed(let error): throw error
                }
            }
            throw CloakroomError(.cancelled, "the photo was not opened")
        }
        // The photo was viewed: that is recorded with it.
        try await store.releaseLock()
        return Console.print("\(target): \(TierOutput.size(byteCount))")
    }

    private static func photo(_ id: PhotoID?, _ name: String, in store: TieredPhotoStore) async throws -> PhotoID {
        if let id { return id }
        guard let found = try await store.photo(named: name) else {
            throw CloakroomError(.noSuchPhoto, "there is no photo \(name)")
        }
        return found
    }

    private static func number(_ text: String) throws -> PhotoID {
        guard let number = Int64(text) else { throw UsageError("\(text) is no number of a photo") }
        return PhotoID(rawValue: number)
    }

    private static let help = """
        Usage: cloakroom-sample tier open NAME FILE
               cloakroom-sample tier open --id N FILE

        Opens a photo, and copies it to FILE, which must not exist. One that is not on the device is fetched from S3, checked,
        and stays for as long as it is being viewed, and 7 days more.

        Options:
          --id N   the photo's number, as tier list shows it, for one without a name

        Example:
          cloakroom-sample tier open "2026/IMG_0042.jpg" /tmp/IMG_0042.jpg
        """
}
