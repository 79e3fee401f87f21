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
        var bytes: [UInt8] = []
        // A policy grows by a half to two thirds when it is encoded.
        bytes.reserveCapacity(512 + 5 * (policy?.utf8.count ?? 0) / 3)
        bytes.append(contentsOf: "Action=AssumeRole&Version=2011-06-15".utf8)
        Self.append("&RoleArn=", roleARN, to: &bytes)
        Self.append("&RoleSessionName=", sessionName, to: &bytes)
        Self.append("&DurationSeconds=", String(duration.components.seconds), to: &bytes)
        Self.append("&Policy=", policy, to: &bytes)
        for index in tags.indices {
            let number = String(index + 1)
            Self.append("&Tags.member.", number, to: &bytes)
            Self.append(".Key=", tags[index].key, to: &bytes)
            Self.append("&Tags.member.", number, to: &bytes)
            Self.append(".Value=", tags[index].value, to: &bytes)
        }
        Self.append("&ExternalId=", externalID, to: &bytes)
        Self.append("&SourceIdentity=", sourceIdentity, to: &bytes)
        return bytes
    }

    private static func append(_ name: StaticString, _ value: String?, to bytes: inout [UInt8]) {
        guard let value else { return }
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        value.withUTF8Span { PercentEncoding.append($0, to: &bytes) }
    }
}
