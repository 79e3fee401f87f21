/// A group of regions with its own accounts and its own names.
///
/// Source: botocore 1.44.5, `data/partitions.json`.
package struct Partition: Sendable, Equatable {
    /// As in an ARN.
    package let identifier: String
    /// What the names of its regions begin with.
    private let prefix: String
    package let suffix: String
    package let dualStackSuffix: String
    /// The region that signs for services without one.
    package let globalRegion: String

    package static let aws = Partition("aws", "", "amazonaws.com", "api.aws", "us-east-1")

    private static let others = [
        Partition("aws-cn", "cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn", "cn-northwest-1"),
        Partition("aws-us-gov", "us-gov-", "amazonaws.com", "api.aws", "us-gov-west-1"),
        Partition("aws-eusc", "eusc-", "amazonaws.eu", "api.amazonwebservices.eu", "eusc-de-east-1"),
        Partition("aws-iso", "us-iso-", "c2s.ic.gov", "api.aws.ic.gov", "us-iso-east-1"),
        Partition("aws-iso-b", "us-isob-", "sc2s.sgov.gov", "api.aws.scloud", "us-isob-east-1"),
        Partition("aws-iso-e", "eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk", "eu-isoe-west-1"),
        Partition("aws-iso-f", "us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov", "us-isof-south-1"),
    ]

    /// The partition of a region; ``aws`` for names that no other partition claims.
    package init(region: String) {
        let claims = Self.others.first { region.hasPrefix($0.prefix) || region == "\($0.identifier)-global" }
        self = claims ?? .aws
    }

    private init(
        _ identifier: String, _ prefix: String, _ suffix: String, _ dualStackSuffix: String, _ globalRegion: String
    ) {
        self.identifier = identifier
        self.prefix = prefix
        self.suffix = suffix
        self.dualStackSuffix = dualStackSuffix
        self.globalRegion = globalRegion
    }

    /// `arn:aws:s3:::bucket/key` for service `s3` and resource `bucket/key`.
    package func arn(service: String, region: String = "", account: String = "", resource: String) -> String {
        "arn:\(identifier):\(service):\(region):\(account):\(resource)"
    }
}
