@testable import CloakroomTiers
import Testing

@Suite(.serialized) struct PhotoFormatTests {
    private static let known: [([UInt8], String)] = [
        ([0xff, 0xd8, 0xff, 0xe1], "jpg"),
        ([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "png"),
        (Array("GIF87a".utf8), "gif"),
        (Array("GIF89a".utf8), "gif"),
        (Array("RIFF....WEBPVP8 ".utf8), "webp"),
        (media("heic", ["mif1", "heic"]), "heic"),
        (media("mif1", ["mif1", "heic"]), "heic"),
        (media("msf1", ["msf1", "hevc"]), "heic"),
        (media("avif", ["mif1", "avif"]), "avif"),
        (media("mif1", ["miaf", "avif"]), "avif"),
        (media("mif1", ["mif1"]), "heif"),
        (media("crx ", ["isom"]), "cr3"),
        (media("qt  ", ["qt  "]), "mov"),
        (media("isom", ["iso2", "mp41"]), "mp4"),
        (media("mp42", []), "mp4"),
        ([0, 0, 0, 8] + Array("wide".utf8), "mov"),
        ([0xff, 0x0a, 0], "jxl"),
        ([0, 0, 0, 12, 0x4a, 0x58, 0x4c, 0x20, 0x0d, 0x0a, 0x87, 0x0a], "jxl"),
        ([0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0xfe, 0, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0], "tif"),
        ([0x49, 0x49, 42, 0, 8, 0, 0, 0, 2, 0] + entry(0x00fe) + entry(50706), "dng"),
        ([0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, 1, 0xc6, 0x12, 0, 1, 0, 0, 0, 4, 1, 4, 0, 0], "dng"),
        ([0x49, 0x49, 42, 0, 16, 0, 0, 0] + Array("CR".utf8), "cr2"),
        ([0x49, 0x49, 43, 0, 8, 0], "tif"),
        (Array("BM".utf8) + [1, 2, 3, 4, 0, 0, 0, 0, 54], "bmp"),
    ]

    @Test(arguments: known)
    func `a file is known by its first bytes`(bytes: [UInt8], format: String) {
        #expect(PhotoFormat.sniff(bytes) == format)
        // What follows, and where a collection begins to count, is of no account.
        let longer = [1] + bytes + [UInt8](repeating: 0, count: 10_000)
        #expect(PhotoFormat.sniff(longer.dropFirst()) == format)
    }

    @Test(arguments: [
        [], [0xff], [0xff, 0xd8], Array("BM is a good beginning".utf8), Array("RIFF....WAVE".utf8),
        Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), Array("%PDF-1.7".utf8),
        [UInt8](repeating: 0, count: 64), [0, 0, 0, 16] + Array("ftyp".utf8), Array("....free".utf8),
    ])
    func `everything else has the extension of data`(bytes: [UInt8]) {
        #expect(PhotoFormat.sniff(bytes) == "dat")
    }

    @Test func `no cut and no wrong length reads beyond the bytes`() {
        for (bytes, _) in Self.known {
            for count in 0..<bytes.count { _ = PhotoFormat.sniff(bytes.prefix(count)) }
        }
        let farDirectory: [UInt8] = [0x49, 0x49, 42, 0, 0xff, 0xff, 0xff, 0xff]
        let manyEntries: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0, 0xff, 0xff, 0xfe, 0]
        let hugeBox: [UInt8] = [0xff, 0xff, 0xff, 0xff] + Array("ftypmif1....mif1".utf8)
        #expect([farDirectory, manyEntries, hugeBox].map { PhotoFormat.sniff($0) } == ["tif", "tif", "heif"])
    }

    /// A `ftyp` box.
    private static func media(_ major: String, _ compatible: [String]) -> [UInt8] {
        [0, 0, 0, UInt8(16 + 4 * compatible.count)] + Array("ftyp".utf8) + Array(major.utf8) + [0, 0, 0, 0]
            + compatible.flatMap { Array($0.utf8) } + Array("    heic".utf8)
    }

    /// Of a TIFF directory, with the least significant byte first.
    private static func entry(_ tag: UInt16) -> [UInt8] {
        [UInt8(tag & 0xff), UInt8(tag >> 8), 1, 0, 4, 0, 0, 0, 1, 4, 0, 0]
    }
}
