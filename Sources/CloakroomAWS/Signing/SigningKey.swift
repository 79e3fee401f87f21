package import CloakroomCrypto

/// The key that signs one UTC day's requests to one service in one region.
///
/// Deriving costs four HMACs and setting up a fifth: keep it for the day.
/// Source: AWS IAM User Guide, "Create a signed AWS API request", step 3.
package struct SigningKey: Sendable {
    /// `20130524`
    package let day: String
    /// `20130524/us-east-1/s3/aws4_request`
    package let scope: String
    private let hmac: HMACSHA256

    package init(secretAccessKey: Secret, day: String, region: String, service: String) {
        var key = Array("AWS4\(secretAccessKey.reveal())".utf8)
        for part in [day, region, service, "aws4_request"] {
            key = HMACSHA256(key: key).authenticate(part.utf8)
        }
        self.day = day
        self.scope = "\(day)/\(region)/\(service)/aws4_request"
        self.hmac = HMACSHA256(key: key)
    }

    /// - Returns: the signature, in hexadecimal.
    func sign(_ stringToSign: [UInt8]) -> String { authenticate(stringToSign).hexadecimal }

    /// - Returns: the signature's bytes.
    func authenticate(_ stringToSign: [UInt8]) -> [UInt8] { hmac.authenticate(stringToSign) }
}
