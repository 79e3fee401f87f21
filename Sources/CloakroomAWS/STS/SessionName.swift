import CloakroomCrypto
import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A role session's name: who, and since when. CloudTrail shows it, and bucket policies can match it.
///
/// Source: AWS STS API Reference, AssumeRole, RoleSessionName: 2 to 64 characters of `[\w+=,.@-]`.
package enum SessionName {
    private static let maximum = 64
    private static let digestLength = 16

    /// `u_42-t3kf0w`: the user id and the second in base 36. A longer id is cut, and told apart by its digest;
    /// what the alphabet lacks becomes `-`, with the digest too.
    package static func make(userID: String, at date: Date) -> String {
        let second = base36(max(Timestamp(date).secondsSince1970, 0))
        // The id, a hyphen, the second.
        let room = maximum - 1 - second.count
        var name: [UInt8] = []
        name.reserveCapacity(maximum)
        let isWhole = userID.withUTF8Span { id in
            var isWhole = id.count <= room
            for index in 0..<min(id.count, room) {
                let isAllowed = isAllowed(id[index])
                name.append(isAllowed ? id[index] : UInt8(ascii: "-"))
                isWhole = isWhole && isAllowed
            }
            return isWhole
        }
        if !isWhole {
            let digest = SHA256.hash(userID.utf8).hexadecimal.utf8.prefix(digestLength)
            name.removeLast(max(0, name.count - (room - digestLength - 1)))
            name.append(UInt8(ascii: "-"))
            name.append(contentsOf: digest)
        }
        name.append(UInt8(ascii: "-"))
        name.append(contentsOf: second)
        return String(decoding: name, as: UTF8.self)
    }

    /// `A-Za-z0-9_+=,.@-`, as one bit for each character of ASCII.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        let low: UInt64 = 0x23FF_7800_0000_0000
        let high: UInt64 = 0x07FF_FFFE_87FF_FFFF
        return byte < 128 && ((byte < 64 ? low : high) >> UInt64(byte & 63)) & 1 == 1
    }

    private static func base36(_ number: Int) -> [UInt8] {
        var digits: [UInt8] = []
        var rest = number
        repeat {
            let digit = UInt8(rest % 36)
            digits.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            rest /= 36
        } while rest > 0
        return digits.reversed()
    }
}
