/// A group of regions with its own accounts and its own names.
///
/// Source: botocore 1.44.5, `data/partitions.json`.
package struct Partition: Sendable, Equatable {
    /// As in an ARN.
    package let identifier: String
    package let suffix: String
    package let dualStackSuffix: String
    /// The region that signs for services without one.
    package let globalRegion: String

    package static let aws = Partition(
        identifier: "aws", suffix: "amazonaws.com", dualStackSuffix: "api.aws", globalRegion: "us-east-1")

    /// The prefix of its regions' names, and the partition.
    private static let others: [(prefix: String, partition: Partition)] = [
        ("cn-", Partition(
            identifier: "aws-cn", suffix: "amazonaws.com.cn", dualStackSuffix: "api.amazonwebservices.com.cn",
            globalRegion: "cn-northwest-1")),
        ("us-gov-", Partition(
            identifier: "aws-us-gov", suffix: "amazonaws.com", dualStackSuffix: "api.aws",
            globalRegion: "us-gov-west-1")),
        ("eusc-", Partition(
            identifier: "aws-eusc", suffix: "amazonaws.eu", dualStackSuffix: "api.amazonwebservices.eu",
            globalRegion: "eusc-de-east-1")),
        ("us-iso-", Partition(
            identifier: "aws-iso", suffix: "c2s.ic.gov", dualStackSuffix: "api.aws.ic.gov",
            globalRegion: "us-iso-east-1")),
        ("us-isob-", Partition(
            identifier: "aws-iso-b", suffix: "sc2s.sgov.gov", dualStackSuffix: "api.aws.scloud",
            globalRegion: "us-isob-east-1")),
        ("eu-isoe-", Partition(
            identifier: "aws-iso-e", suffix: "cloud.adc-e.uk", dualStackSuffix: "api.cloud-aws.adc-e.uk",
            globalRegion: "eu-isoe-west-1")),
        ("us-isof-", Partition(
            identifier: "aws-iso-f", suffix: "csp.hci.ic.gov", dualStackSuffix: "api.aws.hci.ic.gov",
            globalRegion: "us-isof-south-1")),
    ]

    /// The partition of a region; ``aws`` for names that no other partition claims.
    package init(region: String) {
        self = Self.others.first { prefix, partition in
            region.hasPrefix(prefix) || region == "\(partition.identifier)-global"
        }?.partition ?? .aws
    }

    private init(identifier: String, suffix: String, dualStackSuffix: String, globalRegion: String) {
        self.identifier = identifier
        self.suffix = suffix
        self.dualStackSuffix = dualStackSuffix
        self.globalRegion = globalRegion
    }

    /// `arn:aws:s3:::bucket/key` for service `s3` and resource `bucket/key`.
    package func arn(service: String, region: String = "", account: String = "", resource: String) -> String {
        "arn:\(identifier):\(service):\(region):\(account):\(resource)"
    }
}
