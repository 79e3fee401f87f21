/// How a file is divided into parts.
struct FilePartLayout: Sendable, Equatable {
    let byteCount: Int64
    /// Of every part but the last.
    let partSize: Int

    /// S3's maximum (S3 User Guide, "Amazon S3 multipart upload limits").
    static let maximumParts: Int64 = 10_000

    init(byteCount: Int64, partSize: Int) {
        self.byteCount = byteCount
        self.partSize = partSize
    }

    /// - Parameter preferred: the size of a part; a larger one, in whole MiB, when S3 would not accept so many.
    init(byteCount: Int64, preferred: Int) {
        let mebibyte: Int64 = 1 << 20
        let needed = (byteCount + Self.maximumParts - 1) / Self.maximumParts
        let rounded = (needed + mebibyte - 1) / mebibyte * mebibyte
        self.init(byteCount: byteCount, partSize: needed <= preferred ? preferred : Int(rounded))
    }

    var count: Int {
        let (whole, rest) = byteCount.quotientAndRemainder(dividingBy: Int64(partSize))
        return max(1, Int(whole) + (rest > 0 ? 1 : 0))
    }

    /// - Parameter number: from 1.
    func range(_ number: Int) -> Range<Int64> {
        let start = Int64(number - 1) * Int64(partSize)
        return start..<start + min(Int64(partSize), byteCount - start)
    }
}
