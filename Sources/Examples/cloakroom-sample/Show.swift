import CloakroomKit
import Foundation

/// `cloakroom-sample show`
enum Show {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state", "range"], flags: ["url"])
        if options.wantsHelp { return Console.print(help) }
        guard let what = options.operands.first, options.operands.count == 1 else {
            throw UsageError("show needs one key, MD5 or URL")
        }
        guard options.values["range"] == nil || !options.flags.contains("url") else {
            throw UsageError("--range and --url exclude each other")
        }
        let account = try Account.load(options)
        let client = account.readingS3(over: SampleTransport())
        let layout = try PhotoLayout(userID: account.userID)
        let key = isMD5(what) ? try layout.photo(md5: what) : what
        if options.flags.contains("url") {
            let urls = PhotoURLs(client: client, layout: layout)
            return Console.print(try await urls.url(forKey: key).url.absoluteString)
        }
        if let text = options.values["range"] {
            write(try await RangeReader(client: client, key: key).read(try range(text)))
            return 0
        }
        let images = try ImageLoader(
            folder: try Account.folder(options).appendingPathComponent("images"), owner: account.owner, client: client,
            layout: layout, transport: SampleTransport())
        if let image = try await bytes(of: what, layout, images) {
            write(image)
        } else {
            write(try await client.get(key, maximumBytes: 32 << 20))
        }
        return 0
    }

    /// - Returns: `nil` for a key of no photo and no thumbnail.
    private static func bytes(of what: String, _ layout: PhotoLayout, _ images: ImageLoader) async throws -> Data? {
        if isMD5(what) { return try await images.data(for: .photo(md5: what)) }
        if let md5 = layout.md5(ofPhoto: what) { return try await images.data(for: .photo(md5: md5)) }
        guard what.contains("://"), let url = URL(string: what) else { return nil }
        return try await images.data(for: .url(url))
    }

    private static func isMD5(_ text: String) -> Bool {
        text.utf8.count == 32 && text.allSatisfy { $0.isHexDigit && !$0.isUppercase }
    }

    /// `A-B`, both included, as in HTTP.
    private static func range(_ text: String) throws -> Range<Int64> {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < .max else {
            throw UsageError("a range is A-B, in bytes from 0")
        }
        return first..<last + 1
    }

    private static func write(_ bytes: Data) { FileHandle.standardOutput.write(bytes) }

    private static let help = """
        Usage: cloakroom-sample show [--range A-B | --url] KEY|MD5|URL

        Writes the bytes of an image to standard output: of a photo by its MD5 or its key, of another object by its key,
        or of the URL of an uploaded image. Photos and images of URLs are kept in a cache.

        Options:
          --range A-B   only these bytes, both included
          --url         writes a presigned URL instead, which anyone can read the object by for 15 minutes

        Examples:
          cloakroom-sample show 0123456789abcdef0123456789abcdef >photo.jpg
          curl "$(cloakroom-sample show --url 0123456789abcdef0123456789abcdef)" >photo.jpg
        """
}
