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
        let content = try UploadContent(
            contentsOf: URL(fileURLWithPath: path), contentType: options.values["type"] ?? "image/jpeg")
        let image = try await AssetUploader(uploader: client).uploadGroupImage(
            content, conversationID: Renewals.conversationID)

        let folder = try Account.folder(options)
        try UploadedURLs(folder).add(image.url)
        let renewals = try Renewals(account, client, folder, [image.url])
        try await renewals.manager.recordUpload(of: image)
        return Console.print(image.url.absoluteString)
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
