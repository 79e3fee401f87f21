package import CloakroomCrypto
import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What AssumeRole gave.
package struct AssumedRole: Sendable, Equatable {
    /// With a session token and an expiration, always.
    package let credentials: Credentials
    package let expiration: Date
    /// Such as `arn:aws:sts::123456789012:assumed-role/vending/u_1`; `nil` from stores that do not say.
    package let arn: String?
    /// `AROA…:u_1`.
    package let identifier: String?
    /// How much of the limit on policy and tags is used, in percent.
    package let packedPolicySize: Int?

    /// What was cached of an earlier response.
    package init(accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret, expiration: Date) {
        credentials = Credentials(
            accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, sessionToken: sessionToken,
            expiration: expiration)
        self.expiration = expiration
        (arn, identifier, packedPolicySize) = (nil, nil, nil)
    }

    /// Reads the response of AWS and of compatible services; of what they leave out, only the credentials are missed.
    ///
    /// - Parameter action: whose response it is; the elements are named after it.
    /// - Throws: ``AWSError``: transient for what is no response of STS; refused for one without a token or an end.
    init(_ response: UpstreamResponse, of action: String = "AssumeRole", now: Date) throws(AWSError) {
        if action == "AssumeRole", let plain = PlainAssumeRoleResponse(response.body) {
            try self.init(
                accessKeyID: plain.accessKeyID, secretAccessKey: plain.secretAccessKey,
                sessionToken: plain.sessionToken, end: plain.expiration, arn: plain.arn,
                identifier: plain.identifier, packedPolicySize: plain.packedPolicySize, now: now)
            return
        }
        guard let root = try? XMLReader.read(response.body) else {
            throw AWSError(.transient, status: 200, code: "MalformedAnswer")
        }
        if let error = AWSErrorResponse(root) { throw AWSError(response, error: error) }
        guard root.hasName("\(action)Response"), let result = root["\(action)Result"],
            let credentials = result["Credentials"]
        else { throw AWSError(.transient, status: 200, code: "MalformedAnswer") }
        let user = result["AssumedRoleUser"]
        try self.init(
            accessKeyID: Self.word(credentials.text(of: "AccessKeyId")),
            secretAccessKey: Self.word(credentials.text(of: "SecretAccessKey")),
            sessionToken: Self.word(credentials.text(of: "SessionToken")),
            end: Self.word(credentials.text(of: "Expiration")).flatMap { Timestamp(iso8601: $0) },
            arn: Self.word(user?.text(of: "Arn")),
            // Ceph writes AssumeRoleId.
            identifier: Self.word(user?.text(of: "AssumedRoleId") ?? user?.text(of: "AssumeRoleId")),
            packedPolicySize: Self.word(result.text(of: "PackedPolicySize")), now: now)
    }

    /// Words and the end, as far as the response has them.
    private init(
        accessKeyID: String?, secretAccessKey: String?, sessionToken: String?, end: Timestamp?, arn: String?,
        identifier: String?, packedPolicySize: String?, now: Date
    ) throws(AWSError) {
        guard let accessKeyID, let secretAccessKey else {
            throw AWSError(.transient, status: 200, code: "MalformedAnswer")
        }
        guard let sessionToken else { throw Self.fault("NoSessionToken") }
        guard let expiration = end?.date else { throw Self.fault("NoExpiration") }
        guard expiration > now else { throw Self.fault("AlreadyExpired") }
        credentials = Credentials(
            accessKeyID: accessKeyID, secretAccessKey: Secret(secretAccessKey), sessionToken: Secret(sessionToken),
            expiration: expiration)
        self.expiration = expiration
        self.arn = arn
        self.identifier = identifier
        self.packedPolicySize = packedPolicySize.flatMap { StoredNumber.number($0, in: 0...10_000) }
    }

    private static func fault(_ code: String) -> AWSError { AWSError(.refused, status: 200, code: code) }

    /// One word of visible ASCII, blanks around it left out; anything else could break out of a header field.
    private static func word(_ text: String?) -> String? {
        guard let text else { return nil }
        let (lowest, highest) = text.withUTF8Span { bytes in
            var (lowest, highest) = (UInt8.max, UInt8.min)
            for index in bytes.indices { (lowest, highest) = (min(lowest, bytes[index]), max(highest, bytes[index])) }
            return (lowest, highest)
        }
        if lowest > 0x20 && highest < 0x7F { return text.isEmpty ? nil : text }
        let trimmed = text.utf8.split(whereSeparator: isSpace)
        guard trimmed.count == 1, let word = trimmed.first, word.allSatisfy(isVisible) else {
            return nil
        }
        return String(word)
    }
}
