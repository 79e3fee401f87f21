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

    package var roleARN: String
    /// 2 to 64 characters of ``SessionName``'s alphabet.
    package var sessionName: String
    /// 900 s up to what the role allows; 3,600 s at most when our own credentials are a role's.
    package var duration: Duration
    /// The session policy, in JSON; `nil` grants all that the role may.
    package var policy: String?
    package var tags: [Tag]
    package var externalID: String?
    package var sourceIdentity: String?

    package init(
        roleARN: String, sessionName: String, duration: Duration, policy: String? = nil, tags: [Tag] = [],
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
        var bytes = Array("Action=AssumeRole&Version=2011-06-15".utf8)
        func add(_ name: String, _ value: String?) {
            guard let value else { return }
            bytes.append(UInt8(ascii: "&"))
            bytes.append(contentsOf: name.utf8)
            bytes.append(UInt8(ascii: "="))
            PercentEncoding.append(value.utf8, to: &bytes)
        }
        add("RoleArn", roleARN)
        add("RoleSessionName", sessionName)
        add("DurationSeconds", String(duration.components.seconds))
        add("Policy", policy)
        for (number, tag) in zip(1..., tags) {
            add("Tags.member.\(number).Key", tag.key)
            add("Tags.member.\(number).Value", tag.value)
        }
        add("ExternalId", externalID)
        add("SourceIdentity", sourceIdentity)
        return bytes
    }
}
