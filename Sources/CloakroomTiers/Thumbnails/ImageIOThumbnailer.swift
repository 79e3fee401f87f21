#if canImport(ImageIO)
    import CloakroomKit
    public import Foundation
    import ImageIO
    import UniformTypeIdentifiers

    /// Makes thumbnails of all formats that the system decodes, upright, without decoding huge pictures as a whole.
    public struct ImageIOThumbnailer: Thumbnailer {
        public init() {}

        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile`` when there is no picture in it, or none
        ///   that can be read.
        @concurrent public func thumbnail(of file: URL, maximumPixelSize: Int) async throws -> Thumbnail {
            let cacheNothing = [kCGImageSourceShouldCache: false] as CFDictionary
            guard let source = CGImageSourceCreateWithURL(file as CFURL, cacheNothing),
                CGImageSourceGetCount(source) > 0
            else { throw Self.unreadable(file) }
            // Of a HEIC file with several, the one that is shown.
            let index = CGImageSourceGetPrimaryImageIndex(source)
            let properties = CGImageSourceCopyPropertiesAtIndex(source, index, cacheNothing) as? [CFString: Any]
            guard let width = properties?[kCGImagePropertyPixelWidth] as? Int,
                let height = properties?[kCGImagePropertyPixelHeight] as? Int
            else { throw Self.unreadable(file) }
            let steps = ThumbnailSteps(maximumPixelSize: maximumPixelSize, maximumBytes: Thumbnail.maximumBytes)
            guard steps.isDecodable(width: width, height: height) else { throw Self.unreadable(file) }
            let factor = steps.subsampleFactor(width: width, height: height)
            let made = try steps.first { pixelSize in
                guard !Task.isCancelled else { throw CancellationError() }
                guard
                    let image = CGImageSourceCreateThumbnailAtIndex(source, index, Self.options(pixelSize, factor))
                else { throw Self.unreadable(file) }
                return image
            } encode: { image, quality in
                Self.jpeg(image, quality: quality)
            }
            guard let made else { throw Self.unreadable(file) }
            return Thumbnail(bytes: made.bytes, width: made.picture.width, height: made.picture.height)
        }

        private static func options(_ pixelSize: Int, _ factor: Int) -> CFDictionary {
            [
                // Those inside files are too small, or of another cut.
                kCGImageSourceCreateThumbnailFromImageAlways: true,
                kCGImageSourceCreateThumbnailWithTransform: true,
                kCGImageSourceThumbnailMaxPixelSize: pixelSize,
                kCGImageSourceSubsampleFactor: factor,
                kCGImageSourceShouldCacheImmediately: false,
            ] as CFDictionary
        }

        private static func jpeg(_ image: CGImage, quality: Double) -> Data? {
            let data = NSMutableData()
            guard
                let destination = CGImageDestinationCreateWithData(
                    data as CFMutableData, UTType.jpeg.identifier as CFString, 1, nil)
            else { return nil }
            CGImageDestinationAddImage(
                destination, image, [kCGImageDestinationLossyCompressionQuality: quality] as CFDictionary)
            return CGImageDestinationFinalize(destination) ? Data(referencing: data) : nil
        }

        private static func unreadable(_ file: URL) -> CloakroomError {
            CloakroomError(.unreadableFile, "\(file.lastPathComponent) has no picture that can be read")
        }
    }
#endif
