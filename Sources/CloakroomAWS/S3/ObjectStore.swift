package import CloakroomHTTP

/// The stores whose differences from S3 are known, as the settings name them.
package enum ObjectStore: String, Sendable, CaseIterable {
    case aws
    /// Ceph's RADOS Gateway.
    case ceph
    case seaweedfs

    /// - Parameter fields: of any response of the store.
    /// - Returns: `nil` for one that cannot be told by them.
    package init?(_ fields: HeaderFields) {
        let server = fields["server"] ?? ""
        if server == "AmazonS3" {
            self = .aws
        } else if server.hasPrefix("SeaweedFS") {
            self = .seaweedfs
        } else if server.hasPrefix("Ceph") || Self.isCephRequestID(fields["x-amz-request-id"] ?? "") {
            self = .ceph
        } else {
            return nil
        }
    }

    /// `tx`, a transaction's number, the time, the instance and the zone: `tx00000b1c5f0692d3ffce3-006b036269-101d-default`.
    ///
    /// Releases before 19 send no `Server`.
    private static func isCephRequestID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0].hasPrefix("tx") && parts[0].utf8.count == 23
            && (parts[0].dropFirst(2) + parts[1] + parts[2]).allSatisfy(\.isHexDigit) && !parts[3].isEmpty
    }

    /// For a sentence.
    package var name: String {
        switch self {
        case .aws: "Amazon S3"
        case .ceph: "Ceph's RADOS Gateway"
        case .seaweedfs: "SeaweedFS"
        }
    }

    /// What a policy for S3 may name and this store does not have, in lower case; Ceph refuses a policy that names one
    /// as `MalformedPolicyDocument`.
    package var missingActions: Set<String> {
        switch self {
        case .aws: []
        case .ceph: ["s3:getobjectattributes", "s3:getobjectversionattributes"]
        case .seaweedfs: ["s3:restoreobject", "s3:getobjectversionattributes"]
        }
    }
}
