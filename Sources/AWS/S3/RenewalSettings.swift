/// How objects are renewed.
package struct RenewalSettings: Sendable, Equatable {
    package enum Mode: String, Sendable, CaseIterable {
        /// `copy`, until the store says that it does not take it.
        case auto
        /// The metadata is left to the store. Legal on AWS, because the storage class is named.
        case copy
        /// The metadata is read and sent again, for stores that refuse `copy` (SeaweedFS, Ceph, MinIO).
        case replace
    }

    package var mode: Mode
    /// What the object has afterwards.
    package var storageClass: String
    /// A younger object is left alone; zero renews every time.
    package var minimumAge: Duration
    /// The account that must own the bucket.
    package var expectedBucketOwner: String?

    package init(
        mode: Mode = .auto, storageClass: String = "STANDARD", minimumAge: Duration = .seconds(86_400),
        expectedBucketOwner: String? = nil
    ) {
        self.mode = mode
        self.storageClass = storageClass
        self.minimumAge = minimumAge
        self.expectedBucketOwner = expectedBucketOwner
    }
}
