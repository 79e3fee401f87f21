import CloakroomKit
import CloakroomTiers
import Foundation

/// The store of the account that is signed in.
enum TierStore {
    static func open(_ options: Options) throws -> TieredPhotoStore {
        let account = try Account.load(options)
        let folder = try Account.folder(options)
        let tier = S3ColdTier(
            client: try account.s3(over: SampleTransport(), folder), layout: try PhotoLayout(userID: account.userID),
            reader: account.readingS3(over: SampleTransport()))
        return try TieredPhotoStore(
            folder: folder.appendingPathComponent("tier", isDirectory: true), tier: tier, thumbnailer: thumbnailer,
            policy: RetentionPolicy())
    }

    #if os(Linux)
        private static var thumbnailer: any Thumbnailer { VipsThumbnailer() }
    #else
        private static var thumbnailer: any Thumbnailer { ImageIOThumbnailer() }
    #endif
}
