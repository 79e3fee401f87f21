/// The keys clients may name: flat names such as the worker gives to uploads.
enum AssetKey {
    /// 1 to 255 of `A-Z a-z 0-9 . _ -`, the first a letter or a digit: nothing that a URL, a path or S3's copy source
    /// reads in any other way.
    static func isAllowed(_ key: String) -> Bool {
        let bytes = key.utf8
        guard (1...255).contains(bytes.count), let first = bytes.first, isAlphanumeric(first) else { return false }
        return bytes.allSatisfy { isAlphanumeric($0) || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
