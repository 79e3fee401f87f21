import CloakroomCrypto

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
        let suffix = "-" + String(max(Timestamp(date).secondsSince1970, 0), radix: 36)
        let room = maximum - suffix.utf8.count
        let name = userID.utf8.map { isAllowed($0) ? $0 : UInt8(ascii: "-") }
        if name.elementsEqual(userID.utf8), name.count <= room {
            return String(decoding: name, as: UTF8.self) + suffix
        }
        let digest = SHA256.hash(userID.utf8).hexadecimal.prefix(digestLength)
        return String(decoding: name.prefix(room - digestLength - 1), as: UTF8.self) + "-\(digest)" + suffix
    }

    package static func isValid(_ name: String) -> Bool {
        (2...maximum).contains(name.utf8.count) && name.utf8.allSatisfy(isAllowed)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || isUppercase(byte) || "_+=,.@-".utf8.contains(byte)
    }
}
