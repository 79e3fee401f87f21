/// What kind of file some bytes are: by the bytes, whatever their name or media type says.
enum PhotoFormat {
    /// How many bytes from the beginning tell all that can be told; fewer are enough for most formats.
    static let headByteCount = 4096
    /// For bytes of no known format.
    static let unknown = "dat"

    /// - Parameter head: the beginning of the file; of more than ``headByteCount`` bytes the rest is not looked at.
    /// - Returns: the usual extension, in lower case: `jpg`, `png`, `gif`, `webp`, `heic`, `heif`, `avif`, `jxl`, `tif`,
    ///   `dng`, `cr2`, `cr3`, `bmp`, `mov` or `mp4`; ``unknown`` for everything else.
    static func sniff(_ head: some Collection<UInt8>) -> String {
        let bytes = Array(head.prefix(headByteCount))
        return signatures.first { bytes.starts(with: $0.bytes) }?.format
            ?? tiff(bytes) ?? riff(bytes) ?? isoMedia(bytes) ?? unknown
    }

    private static let signatures: [(bytes: [UInt8], format: String)] = [
        ([0xff, 0xd8, 0xff], "jpg"),
        ([0x89] + Array("PNG\r\n\u{1a}\n".utf8), "png"),
        (Array("GIF87a".utf8), "gif"),
        (Array("GIF89a".utf8), "gif"),
        // A bare code stream, and one in a container (ISO/IEC 18181-2).
        ([0xff, 0x0a], "jxl"),
        ([0, 0, 0, 12] + Array("JXL \r\n".utf8) + [0x87, 0x0a], "jxl"),
    ]

    private static func riff(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: Array("RIFF".utf8)), text(bytes, at: 8) == "WEBP" { return "webp" }
        // Two letters prove little: the reserved words behind the size are zero (Microsoft, BITMAPFILEHEADER).
        guard bytes.starts(with: Array("BM".utf8)), bytes.count >= 10 else { return nil }
        return bytes[6..<10].allSatisfy { $0 == 0 } ? "bmp" : nil
    }
}

extension PhotoFormat {
    /// TIFF 6.0, and the raw formats that are made of it.
    private static func tiff(_ bytes: [UInt8]) -> String? {
        let isLittleEndian: Bool
        switch bytes.prefix(4) {
        case [0x49, 0x49, 42, 0]: isLittleEndian = true
        case [0x4d, 0x4d, 0, 42]: isLittleEndian = false
        // BigTIFF.
        case [0x49, 0x49, 43, 0], [0x4d, 0x4d, 0, 43]: return "tif"
        default: return nil
        }
        if bytes.dropFirst(8).starts(with: Array("CR".utf8)) { return "cr2" }

        func integer(at offset: Int, bytes count: Int) -> Int? {
            guard offset >= 0, offset + count <= bytes.count else { return nil }
            let digits = bytes[offset..<offset + count]
            return (isLittleEndian ? Array(digits.reversed()) : Array(digits)).reduce(0) { $0 << 8 | Int($1) }
        }
        guard let directory = integer(at: 4, bytes: 4), let count = integer(at: directory, bytes: 2) else {
            return "tif"
        }
        let isDNG = (0..<count).contains { integer(at: directory + 2 + 12 * $0, bytes: 2) == dngVersion }
        return isDNG ? "dng" : "tif"
    }

    /// The tag that every DNG has in its first directory (Adobe, DNG Specification 1.7, "DNGVersion").
    private static let dngVersion = 50706
}

extension PhotoFormat {
    /// Boxes, of which the first names the brands (ISO/IEC 14496-12 §4.3; for images ISO/IEC 23008-12).
    private static func isoMedia(_ bytes: [UInt8]) -> String? {
        switch text(bytes, at: 4) {
        case "ftyp": break
        // QuickTime files of before there were brands.
        case "moov", "mdat", "wide", "pnot": return "mov"
        default: return nil
        }
        let size = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        // The major one, then those behind the version of it.
        let places = [8] + stride(from: 16, to: min(size, bytes.count), by: 4)
        let brands = places.compactMap { text(bytes, at: $0) }
        guard let major = brands.first else { return nil }
        if let format = formats[major] { return format }
        // The general brands of images say nothing of how they are coded.
        guard major == "mif1" || major == "msf1" || major == "mif2" else { return "mp4" }
        return brands.lazy.compactMap { formats[$0] }.first ?? "heif"
    }

    private static let formats = [
        "heic": "heic", "heix": "heic", "heim": "heic", "heis": "heic", "hevc": "heic", "hevx": "heic", "hevm": "heic",
        "hevs": "heic", "avif": "avif", "avis": "avif", "crx ": "cr3", "qt  ": "mov",
    ]

    /// Four characters; `nil` when the bytes end before.
    private static func text(_ bytes: [UInt8], at offset: Int) -> String? {
        guard offset + 4 <= bytes.count else { return nil }
        return String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
    }
}
