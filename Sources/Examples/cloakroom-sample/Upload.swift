import CloakroomKit
import Foundation

/// `cloakroom-sample upload`
enum Upload {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state", "type"])
        if options.wantsHelp { return Console.print(help) }
        guard let path = options.operands.first, options.operands.count == 1 else {
            throw UsageError("upload needs one file")
        }
        let account = try Account.load(options)
        let client = account.client(over: SampleTransport())
        let file = URL(fileURLWithPath: path)
        let size = Int64(try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0)

        let target = try await client.requestUpload(
            contentType: options.values["type"] ?? "image/jpeg", byteCount: size)
        try await client.upload(.file(file, 0..<size), to: target)

        let folder = try Account.folder(options)
        try UploadedURLs(folder).add(target.assetURL)
        let renewals = try Renewals(account, client, folder, [target.assetURL])
        try await renewals.manager.recordUpload(of: Renewals.asset(target.assetURL))
        return Console.print(target.assetURL.absoluteString)
    }

    private static let help = """
        Usage: cloakroom-sample upload [--type T] FILE

        Uploads an image through a presigned URL, and writes the URL at which it can be read.

        Options:
          --type T   its content type; image/jpeg

        Example:
          cloakroom-sample upload me.jpg
        """
}
