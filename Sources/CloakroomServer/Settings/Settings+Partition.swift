extension Settings.Vending {
    /// As in ARNs: `aws`, `aws-cn`, `aws-us-gov`, …
    package var partition: String { Self.partition(ofRole: roleARN) }

    /// The second part of an ARN.
    static func partition(ofRole arn: String) -> String {
        arn.split(separator: ":").dropFirst().first.map(String.init) ?? "aws"
    }
}
