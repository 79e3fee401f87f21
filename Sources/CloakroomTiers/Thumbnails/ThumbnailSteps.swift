import Foundation

/// How a picture is made small enough, by any encoder.
struct ThumbnailSteps: Sendable {
    var maximumPixelSize: Int
    var maximumBytes: Int

    /// Lower ones show blocks.
    private static let qualities = [0.8, 0.65, 0.5, 0.35]
    private static let minimumPixelSize = 48

    /// The first encoding with few enough bytes: lower qualities first, then smaller pictures.
    ///
    /// - Parameter encode: `nil` when it cannot.
    /// - Returns: `nil` when none is small enough.
    func first<Picture>(
        picture: (_ pixelSize: Int) throws -> Picture, encode: (Picture, _ quality: Double) throws -> Data?
    ) rethrows -> (picture: Picture, bytes: Data)? {
        var pixelSize = maximumPixelSize
        while pixelSize >= min(Self.minimumPixelSize, maximumPixelSize) {
            let picture = try picture(pixelSize)
            for quality in Self.qualities {
                guard let bytes = try encode(picture, quality) else { return nil }
                if bytes.count <= maximumBytes { return (picture, bytes) }
            }
            pixelSize = pixelSize * 3 / 4
        }
        return nil
    }

    /// By how much a decoder may skip pixels: at least twice as many as needed are left, so that the picture stays sharp.
    ///
    /// - Returns: 1, 2, 4 or 8, the factors that decoders know.
    func subsampleFactor(width: Int, height: Int) -> Int {
        [8, 4, 2].first { max(width, height) / $0 >= 2 * maximumPixelSize } ?? 1
    }

    /// Whether a picture can be decoded in the memory that an app has.
    func isDecodable(width: Int, height: Int) -> Bool {
        guard width > 0, height > 0 else { return false }
        let factor = Double(subsampleFactor(width: width, height: height))
        return Double(width) / factor * (Double(height) / factor) <= 50_000_000
    }
}
