/// AssumeRole's answer in the shape that AWS gives it.
///
/// It saves the tree of an answer that comes for each session. ``XMLReader`` judges whatever is any different.
struct PlainAnswer {
    /// A longer one is something else.
    private static let maximumBytes = 1 << 16

    private var document: PlainXML
    // Where each text stands.
    private var accessKeyIDPlace, secretAccessKeyPlace, sessionTokenPlace, expirationPlace: Range<Int>?
    private var arnPlace, identifierPlace, packedPolicySizePlace: Range<Int>?

    /// - Returns: never for what ``XMLReader`` would not read in the same way.
    init?(_ body: [UInt8]) {
        guard body.count <= Self.maximumBytes else { return nil }
        document = PlainXML(body)
        guard document.take(#"<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">"#), takeResult(),
            takeMetadata(), document.take("</AssumeRoleResponse>"), document.isAtEnd
        else { return nil }
    }

    var accessKeyID: String? { text(accessKeyIDPlace) }
    var secretAccessKey: String? { text(secretAccessKeyPlace) }
    var sessionToken: String? { text(sessionTokenPlace) }
    var expiration: Timestamp? {
        guard let expirationPlace else { return nil }
        let text = document.bytes[expirationPlace]
        return Timestamp(iso8601: text.span)
    }
    var arn: String? { text(arnPlace) }
    var identifier: String? { text(identifierPlace) }
    var packedPolicySize: String? { text(packedPolicySizePlace) }

    private func text(_ place: Range<Int>?) -> String? {
        place.map { String(decoding: document.bytes[$0], as: UTF8.self) }
    }

    private mutating func takeResult() -> Bool {
        guard document.take("<AssumeRoleResult>") else { return false }
        while !document.take("</AssumeRoleResult>") {
            if document.take("<Credentials>") {
                guard takeCredentials() else { return false }
            } else if document.take("<AssumedRoleUser>") {
                guard takeUser() else { return false }
            } else {
                guard document.take("PackedPolicySize", &packedPolicySizePlace) else { return false }
            }
        }
        return accessKeyIDPlace != nil
    }

    /// All of them, each once.
    private mutating func takeCredentials() -> Bool {
        while !document.take("</Credentials>") {
            let isTaken =
                document.take("AccessKeyId", &accessKeyIDPlace)
                || document.take("SecretAccessKey", &secretAccessKeyPlace)
                || document.take("SessionToken", &sessionTokenPlace)
                || document.take("Expiration", &expirationPlace)
            guard isTaken else { return false }
        }
        return accessKeyIDPlace != nil && secretAccessKeyPlace != nil && sessionTokenPlace != nil
            && expirationPlace != nil
    }

    private mutating func takeUser() -> Bool {
        while !document.take("</AssumedRoleUser>") {
            guard document.take("AssumedRoleId", &identifierPlace) || document.take("Arn", &arnPlace) else {
                return false
            }
        }
        return identifierPlace != nil && arnPlace != nil
    }

    private mutating func takeMetadata() -> Bool {
        var identifier: Range<Int>?
        return document.take("<ResponseMetadata>") && document.take("RequestId", &identifier)
            && document.take("</ResponseMetadata>")
    }
}
