import HTTPValues

/// What is asked of AssumeRole.
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

        /// - Parameter filling: the text for the template's open places.
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

    func limited(to maximum: Duration) -> Self {
        var limited = self
        limited.duration = min(duration, maximum)
        return limited
    }

    /// `application/x-www-form-urlencoded`; a space is `%20`, because Ceph does not take `+` for one.
    package var form: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1024 + (policy?.template.count ?? 0))
        bytes.append("Action=AssumeRole&Version=2011-06-15&RoleArn=")
        Self.append(roleARN, to: &bytes)
        bytes.append("&RoleSessionName=")
        Self.append(sessionName, to: &bytes)
        bytes.append("&DurationSeconds=")
        bytes.append(String(duration.components.seconds))
        if let policy {
            bytes.append("&Policy=")
            policy.template.append(filledWith: policy.filling, to: &bytes)
        }
        for index in tags.indices {
            let number = String(index + 1)
            bytes.append("&Tags.member.")
            bytes.append(number)
            bytes.append(".Key=")
            Self.append(tags[index].key, to: &bytes)
            bytes.append("&Tags.member.")
            bytes.append(number)
            bytes.append(".Value=")
            Self.append(tags[index].value, to: &bytes)
        }
        if let externalID {
            bytes.append("&ExternalId=")
            Self.append(externalID, to: &bytes)
        }
        if let sourceIdentity {
            bytes.append("&SourceIdentity=")
            Self.append(sourceIdentity, to: &bytes)
        }
        return bytes
    }

    private static func append(_ value: String, to bytes: inout [UInt8]) {
        value.withUTF8Span { PercentEncoding.append($0, to: &bytes) }
    }
}
