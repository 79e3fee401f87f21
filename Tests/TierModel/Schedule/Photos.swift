import CloakroomCrypto
import CloakroomScriptedTier
import Foundation

/// The few photos that all schedules are about.
enum Photos {
    /// By number; the last two have one MD5, the one before them has no picture in it.
    static let bytes: [Data] = {
        let pictures = (0..<4).map { number in
            Data([0xFF, 0xD8, 0xFF, 0xE0] + Array(repeating: UInt8(number), count: 40))
        }
        return pictures + [ScriptedThumbnailer.noPicture, collision, otherCollision]
    }()

    static let keys: [String] = bytes.map { MD5.hash($0).hexadecimal }
    static let numbers: [Data: Int] = Dictionary(uniqueKeysWithValues: bytes.enumerated().map { ($1, $0) })

    /// Two messages of one MD5: X. Wang, D. Feng, X. Lai, H. Yu, "Collisions for Hash Functions MD4, MD5, HAVAL-128 and
    /// RIPEMD" (2004).
    private static let collision = Data(
        [UInt8](
            hexadecimal: """
                d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f8955ad340609f4b30283e488832571415a\
                085125e8f7cdc99fd91dbdf280373c5bd8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0\
                e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70
                """.utf8) ?? [])
    private static let otherCollision: Data = {
        var bytes = collision
        for (place, bit) in [(19, 0x80), (45, 0x80), (59, 0x80), (83, 0x80), (109, 0x80), (123, 0x80)] {
            bytes[place] ^= UInt8(bit)
        }
        return bytes
    }()
}

/// A name that an app gives a photo; which photo that is stands in the name.
struct PhotoName: Hashable, Sendable, CustomStringConvertible {
    var photo: Int
    var letter: Int

    var description: String { "photo\(photo)\(["a", "b"][letter % 2])" }

    static let all = Photos.bytes.indices.flatMap { photo in
        (0..<2).map { PhotoName(photo: photo, letter: $0) }
    }
}
