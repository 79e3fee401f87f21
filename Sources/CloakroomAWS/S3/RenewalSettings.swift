import CloakroomHTTP

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

    package enum StorageClass: Sendable, Equatable {
        /// The one that the object has. HEAD tells before each copy, so nothing about the object changes but its date.
        case preserved
        case named(String)
    }

    /// What a copy is encrypted with.
    package struct Encryption: Sendable, Equatable {
        /// `AES256`, `aws:kms` or `aws:kms:dsse`.
        package var algorithm: String
        /// Of KMS; `nil` for AWS's own.
        package var keyID: String?
        /// `nil` for what the bucket does by default.
        package var usesBucketKey: Bool?

        package init(algorithm: String, keyID: String? = nil, usesBucketKey: Bool? = nil) {
            self.algorithm = algorithm
            self.keyID = keyID
            self.usesBucketKey = usesBucketKey
        }
    }

    package var mode: Mode
    /// What the object has afterwards.
    package var storageClass: StorageClass
    /// For copies that have not looked at the object before; the others send what it has. `nil` leaves it to the
    /// bucket, which turns an object of another encryption into one of its own.
    package var encryption: Encryption?
    /// A canned one. `nil` sends none, and the object becomes its owner's alone.
    package var acl: String?
    /// A younger object is left alone; zero renews every time.
    package var minimumAge: Duration
    /// The account that must own the bucket.
    package var expectedBucketOwner: String?

    package init(
        mode: Mode = .auto, storageClass: StorageClass = .named("STANDARD"), encryption: Encryption? = nil,
        acl: String? = nil, minimumAge: Duration = .seconds(86_400), expectedBucketOwner: String? = nil
    ) {
        self.mode = mode
        self.storageClass = storageClass
        self.encryption = encryption
        self.acl = acl
        self.minimumAge = minimumAge
        self.expectedBucketOwner = expectedBucketOwner
    }
}

extension RenewalSettings.Encryption {
    /// As S3 wants it in the fields of a copy or an upload.
    var fields: HeaderFields {
        var fields: HeaderFields = ["x-amz-server-side-encryption": algorithm]
        if let keyID { fields.add("x-amz-server-side-encryption-aws-kms-key-id", keyID) }
        if let usesBucketKey {
            fields.add("x-amz-server-side-encryption-bucket-key-enabled", usesBucketKey ? "true" : "false")
        }
        return fields
    }
}
