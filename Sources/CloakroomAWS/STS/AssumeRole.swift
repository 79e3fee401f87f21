import CloakroomHTTP

/// A request of AssumeRole.
///
/// Source: AWS STS API Reference, AssumeRole.
package struct AssumeRole: Sendable, Equatable {
    package struct Tag: Sendable, Equatable {
        package let key: String
        package let value: String

        package init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// A session policy, in JSON.
    package struct Policy: Sendable, Equatable {
        fileprivate let template: FormTemplate
        fileprivate let filling: String

        /// - Parameter filling: the text for the template's placeholders.
        package init(_ template: FormTemplate, filledWith filling: String) {
            self.template = template
            self.filling = filling
        }

        package init(_ text: String) { self.init(FormTemplate([text]), filledWith: "") }
    }

    package var roleARN: String
    /// 2 to 64 characters of ``SessionName``'s alphabet.
    package var sessionName: String
    /// 900 s up to what the role allows; 3,600 s at most when our own credentials are a role's.
    package var duration: Duration
    /// `nil` grants all that the role may.
    package var policy: Policy?
    package var tags: [Tag]
    package var externalID: String?
    package var sourceIdentity: String?

    package init(
        roleARN: String, sessionName: String, duration: Duration, policy: Policy? = nil, tags: [Tag] = [],
        externalID: String? = nil, sourceIdentity: String? = nil
    ) {
        self.roleARN = roleARN
        self.sessionName = sessionName
        self.duration = duration
        self.policy = policy
        self.tags = tags
        self.externalID = externalID
        self.sourceIdentity = sourceIdentity
    }

    /// Where our own credentials are a role's, the session lasts an hour at most: for such a chain STS refuses more.
    func duration(with credentials: Credentials) -> Duration {
        credentials.sessionToken == nil ? duration : min(duration, .seconds(3600))
    }

    /// `application/x-www-form-urlencoded`; a space is `%20`, because Ceph does not take `+` for one.
    ///
    /// - Parameter duration: in place of the request's own.
    package func form(for duration: Duration) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1024 + (policy?.template.count ?? 0))
        Self.append("Action=AssumeRole&Version=2011-06-15&RoleArn=", roleARN, to: &bytes)
        Self.append("&RoleSessionName=", sessionName, to: &bytes)
        bytes.append(constant: "&DurationSeconds=")
        bytes.append(decimal: Int(duration.components.seconds))
        if let policy {
            bytes.append(constant: "&Policy=")
            policy.template.append(filledWith: policy.filling, to: &bytes)
        }
        for (index, tag) in tags.enumerated() {
            bytes.append(constant: "&Tags.member.")
            bytes.append(decimal: index + 1)
            Self.append(".Key=", tag.key, to: &bytes)
            bytes.append(constant: "&Tags.member.")
            bytes.append(decimal: index + 1)
            Self.append(".Value=", tag.value, to: &bytes)
        }
        Self.append("&ExternalId=", externalID, to: &bytes)
        Self.append("&SourceIdentity=", sourceIdentity, to: &bytes)
        return bytes
    }

    private static func append(_ name: StaticString, _ value: String?, to bytes: inout [UInt8]) {
        guard let value else { return }
        bytes.append(constant: name)
        value.withUTF8Span { PercentEncoding.append($0, to: &bytes) }
    }
}

extension [UInt8] {
    /// - Parameter number: not below zero.
    fileprivate mutating func append(decimal number: Int) {
        append(addingCapacity: 19) { $0.append(decimal: number) }
    }
}

/// A request of AssumeRoleWithWebIdentity. It is unsigned: the token is the proof.
///
/// Source: AWS STS API Reference, AssumeRoleWithWebIdentity.
struct AssumeRoleWithWebIdentity {
    let roleARN: String
    let sessionName: String
    let token: String

    /// `application/x-www-form-urlencoded`
    var form: [UInt8] {
        let fields = [("RoleArn", roleARN), ("RoleSessionName", sessionName), ("WebIdentityToken", token)]
        let text = fields.map { "&\($0)=\(PercentEncoding.encode($1))" }.joined()
        return Array("Action=AssumeRoleWithWebIdentity&Version=2011-06-15\(text)".utf8)
    }
}
