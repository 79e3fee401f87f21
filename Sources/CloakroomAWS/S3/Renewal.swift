import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What became of one object that was to be renewed.
package struct Renewal: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        /// Its life starts anew. The expiration is the bucket's lifecycle rule's, where S3 tells it.
        case renewed(expiration: Date?)
        /// It was written too recently to need it. The expiration is as above.
        case recentlyWritten(expiration: Date?)
        /// S3 said `NoSuchKey`; nothing else gives this outcome.
        case notFound
        /// In an archive tier: it must be restored first.
        case archived
        /// No object can have this key.
        case invalidKey
        /// This object cannot be renewed by us: encrypted with its owner's key, locked, metadata or tags that would be
        /// lost, …
        case unrenewableObject(code: String)
        /// S3 returned 403, for the worker's permissions or for the key's own: whether others can be renewed, tells.
        case accessDenied(code: String)
        /// S3 returned 400 or 405, or the request could not be sent; as above.
        case refused(code: String)
        /// The credentials, the bucket, its region or its KMS keys are not as the settings say: our alarm.
        case misconfigured(code: String)
        /// Still failing after retries; later it may not.
        case unavailable(retryAfter: Duration?, code: String)
    }

    /// Codes of ``Outcome/unavailable(retryAfter:code:)`` that are none of S3's: a copy goes on, or too many do.
    package static let copyingCodes: Set<String> = [stillCopying, tooManyLargeCopies]
    static let stillCopying = "StillCopying"
    static let tooManyLargeCopies = "TooManyLargeCopies"

    package let outcome: Outcome
    package let counts: AttemptCounts
    /// Whether it is of a copy that an earlier request began; how that ended is told once.
    package let isOfEarlierCopy: Bool

    package init(outcome: Outcome, counts: AttemptCounts, isOfEarlierCopy: Bool = false) {
        self.outcome = outcome
        self.counts = counts
        self.isOfEarlierCopy = isOfEarlierCopy
    }
}

extension Renewal.Outcome {
    init(_ fault: AWSError) {
        switch fault.kind {
        case .throttled, .transient, .noCredentials, .cancelled:
            self = .unavailable(retryAfter: fault.retryAfter, code: fault.code)
        case .staleCredentials, .skewedClock: self = .misconfigured(code: fault.code)
        case .refused:
            self =
                switch fault.status {
                case _ where fault.concernsAllKeys: .misconfigured(code: fault.code)
                case 403: .accessDenied(code: fault.code)
                case 400, 405: .refused(code: fault.code)
                case 0 where fault.code == AWSError.unsendable: .refused(code: fault.code)
                default: .misconfigured(code: fault.code)
                }
        }
    }
}

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
