import CloakroomCrypto

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Whom a request is for, after its token was verified.
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
    /// For whom the issuer made the token; `nil` where it does not matter.
    package let audience: String?
    /// When the person signed in, for an issuer's token when it was issued: by which a revocation decides. A whole second;
    /// `nil` when the token does not say.
    package let signIn: Date?
    /// Issuer and user, by which requests are counted: a digest, for neither is kept in the open in Redis.
    package let owner: String
    /// The device among those of the user, by which requests are counted as well; one for all that name none.
    package let device: String
    /// The device by itself, where its issuer proves it: then it is counted for all its users together.
    package let provenDevice: String?

    /// - Parameter isDeviceVouchedFor: whether the issuer proves the device. One that the app alone names could be
    ///   another one in every request.
    package init(
        userID: UserID, deviceID: String?, tier: String?, issuer: String, audience: String? = nil, signIn: Date? = nil,
        isDeviceVouchedFor: Bool = false
    ) {
        self.userID = userID
        self.deviceID = deviceID
        self.tier = tier
        self.issuer = issuer
        self.audience = audience
        self.signIn = signIn.map { Date(timeIntervalSince1970: $0.timeIntervalSince1970.rounded(.down)) }
        owner = Self.digest("user", issuer, userID.text)
        device = deviceID.map { Self.digest("device", $0) } ?? "none"
        provenDevice = isDeviceVouchedFor ? deviceID.map { Self.digest("proven", issuer, $0) } : nil
    }

    /// Each text with its length before it: no two lists of texts have one digest.
    private static func digest(_ texts: String...) -> String {
        let text = texts.map { "\($0.utf8.count):\($0)" }.joined()
        return Base64URL.encode(SHA256.hash(Array(text.utf8)).prefix(18))
    }

    package static func == (left: Subject, right: Subject) -> Bool {
        left === right
            || left.userID == right.userID && left.deviceID == right.deviceID && left.tier == right.tier
                && left.issuer == right.issuer && left.provenDevice == right.provenDevice && left.signIn == right.signIn
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
