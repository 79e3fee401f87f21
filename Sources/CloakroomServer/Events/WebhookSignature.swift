import CloakroomCrypto
package import CloakroomJOSE

/// Shows a webhook that a post is ours and when it was made: HMAC-SHA256 over the time, a dot and the body.
package enum WebhookSignature {
    static let fieldName = "Cloakroom-Signature"

    /// - Parameter time: in seconds since 1970, of this attempt.
    package static func value(of body: [UInt8], at time: Int, key: HMACKey) -> String {
        "t=\(time),v1=\(key.sign(Array("\(time).".utf8) + body).hexadecimal)"
    }
}
