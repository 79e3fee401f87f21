import CloakroomAWS
package import CloakroomServer

/// Which store's bucket a state file is about: a name alone is not one bucket, since each store has its own.
package struct BucketLocation: Sendable, Equatable {
    package let bucket: String
    /// The URL of S3, with the bucket's name where it is part of the host.
    package let endpoint: String
    package let region: String

    package init(bucket: String, endpoint: String, region: String) {
        self.bucket = bucket
        self.endpoint = endpoint
        self.region = region
    }
}

extension Settings {
    package var bucketLocation: BucketLocation {
        BucketLocation(bucket: bucket, endpoint: aws.s3.url, region: region)
    }
}
