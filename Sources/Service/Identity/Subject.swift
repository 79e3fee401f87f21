import CloakroomCrypto

/// Whom a request is for, after its token was believed.
///
/// A value in all but its storage: it is remembered for many requests and handed on a dozen times in each, which is one
/// count of one object instead of five strings.
package final class Subject: Sendable, Equatable {
    package let userID: UserID
    /// As the token has it; `nil` when it names none.
    package let deviceID: String?
    /// As the token's claim has it; `nil` when it names none. What it opens is an entitlement's affair.
    package let tier: String?
    package let issuer: String
    /// By which requests are counted: a digest of the device, else of the user. Neither is kept in the open in Redis.
    package let party: String

    /// - Parameter isDeviceVouchedFor: whether the issuer knows the device. A device that only the app itself names
    ///   could be another one in every request; then it is the user who is counted.
    package init(
        userID: UserID, deviceID: String?, tier: String?, issuer: String, isDeviceVouchedFor: Bool = true
    ) {
        self.userID = userID
        self.deviceID = deviceID
        self.tier = tier
        self.issuer = issuer
        let device = isDeviceVouchedFor ? deviceID : nil
        let name = device.map { "device:\(issuer):\($0)" } ?? "user:\(userID.text)"
        party = Base64URL.encode(SHA256.hash(Array(name.utf8)).prefix(18))
    }

    package static func == (left: Subject, right: Subject) -> Bool {
        left === right
            || left.userID == right.userID && left.deviceID == right.deviceID && left.tier == right.tier
                && left.issuer == right.issuer && left.party == right.party
    }

    /// Whether a tier can be the value of a session tag: 1 to 64 of those characters STS takes that are ASCII.
    static func isTier(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "/"),
                    UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "@"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
