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
    var arn: String? { text(arnRange) }
    var identifier: String? { text(identifierRange) }
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
