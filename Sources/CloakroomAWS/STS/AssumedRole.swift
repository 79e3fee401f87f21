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
    package private(set) var credentials: Credentials
    package private(set) var expiration: Date
    /// How much of the limit on policy and tags is used, in percent.
    package let packedPolicySize: Int?

    /// What was cached of an earlier response.
    package init(accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret, expiration: Date) {
        credentials = Credentials(
            accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, sessionToken: sessionToken,
            expiration: expiration)
        self.expiration = expiration
        packedPolicySize = nil
    }

    /// The same, said to end at that time if it does not end earlier.
    package func ending(by end: Date) -> AssumedRole {
        guard end < expiration else { return self }
        var role = self
        role.expiration = end
        role.credentials = Credentials(
            accessKeyID: credentials.accessKeyID, secretAccessKey: credentials.secretAccessKey,
            sessionToken: credentials.sessionToken, expiration: end)
        return role
    }

    /// Reads the response of AWS and of compatible services; of what they leave out, only the credentials are missed.
    ///
    /// - Parameter action: whose response it is; the elements are named after it.
    /// - Throws: ``AWSError``: transient for what is no response of STS; refused for one without a token or an end.
    init(_ response: UpstreamResponse, of action: String = "AssumeRole", now: Date) throws(AWSError) {
        if action == "AssumeRole", let plain = PlainAssumeRoleResponse(response.body) {
            try self.init(
                accessKeyID: plain.accessKeyID, secretAccessKey: plain.secretAccessKey,
                sessionToken: plain.sessionToken, end: plain.expiration, packedPolicySize: plain.packedPolicySize,
                now: now)
            return
        }
        guard let root = try? XMLReader.read(response.body) else {
            throw AWSError(.transient, status: 200, code: "MalformedAnswer")
        }
        if let error = AWSErrorResponse(root) { throw AWSError(response, error: error) }
        guard root.hasName("\(action)Response"), let result = root["\(action)Result"],
            let credentials = result["Credentials"]
        else { throw AWSError(.transient, status: 200, code: "MalformedAnswer") }
        try self.init(
            accessKeyID: Self.word(credentials.text(of: "AccessKeyId")),
            secretAccessKey: Self.word(credentials.text(of: "SecretAccessKey")),
            sessionToken: Self.word(credentials.text(of: "SessionToken")),
            end: Self.word(credentials.text(of: "Expiration")).flatMap { Timestamp(iso8601: $0) },
            packedPolicySize: Self.word(result.text(of: "PackedPolicySize")), now: now)
    }

    /// Words and the end, as far as the response has them.
    private init(
        accessKeyID: String?, secretAccessKey: String?, sessionToken: String?, end: Timestamp?,
        packedPolicySize: String?, now: Date
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

/// AssumeRole's response in the shape that AWS gives it.
///
/// It saves the tree of a response that comes for each session. ``XMLReader`` decodes all other shapes.
struct PlainAssumeRoleResponse {
    /// A longer one is something else.
    private static let maximumBytes = 1 << 16

    private var document: PlainXML
    // Where each text stands.
    private var accessKeyIDRange, secretAccessKeyRange, sessionTokenRange, expirationRange: Range<Int>?
    private var arnRange, identifierRange, packedPolicySizeRange: Range<Int>?

    /// - Returns: never for what ``XMLReader`` would not read in the same way.
    init?(_ body: [UInt8]) {
        guard body.count <= Self.maximumBytes else { return nil }
        document = PlainXML(body)
        guard document.take(#"<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">"#), takeResult(),
            takeMetadata(), document.take("</AssumeRoleResponse>"), document.isAtEnd
        else { return nil }
    }

    var accessKeyID: String? { text(accessKeyIDRange) }
    var secretAccessKey: String? { text(secretAccessKeyRange) }
    var sessionToken: String? { text(sessionTokenRange) }
    var expiration: Timestamp? {
        guard let expirationRange else { return nil }
        let text = document.bytes[expirationRange]
        return Timestamp(iso8601: text.span)
    }
    var packedPolicySize: String? { text(packedPolicySizeRange) }

    private func text(_ range: Range<Int>?) -> String? {
        range.map { String(decoding: document.bytes[$0], as: UTF8.self) }
    }

    private mutating func takeResult() -> Bool {
        guard document.take("<AssumeRoleResult>") else { return false }
        while !document.take("</AssumeRoleResult>") {
            if document.take("<Credentials>") {
                guard takeCredentials() else { return false }
            } else if document.take("<AssumedRoleUser>") {
                guard takeUser() else { return false }
            } else {
                guard document.take("PackedPolicySize", &packedPolicySizeRange) else { return false }
            }
        }
        return accessKeyIDRange != nil
    }

    /// All of them, each once.
    private mutating func takeCredentials() -> Bool {
        while !document.take("</Credentials>") {
            let isTaken =
                document.take("AccessKeyId", &accessKeyIDRange)
                || document.take("SecretAccessKey", &secretAccessKeyRange)
                || document.take("SessionToken", &sessionTokenRange)
                || document.take("Expiration", &expirationRange)
            guard isTaken else { return false }
        }
        return accessKeyIDRange != nil && secretAccessKeyRange != nil && sessionTokenRange != nil
            && expirationRange != nil
    }

    private mutating func takeUser() -> Bool {
        while !document.take("</AssumedRoleUser>") {
            guard document.take("AssumedRoleId", &identifierRange) || document.take("Arn", &arnRange) else {
                return false
            }
        }
        return identifierRange != nil && arnRange != nil
    }

    private mutating func takeMetadata() -> Bool {
        var identifier: Range<Int>?
        return document.take("<ResponseMetadata>") && document.take("RequestId", &identifier)
            && document.take("</ResponseMetadata>")
    }
}
