import Foundation

/// Buckets and what is set on them.
///
/// Source: S3 API Reference. PutBucketLifecycleConfiguration wants a digest of its body: API Reference ("Content-MD5 or
/// a checksum is required"); `NoSuchLifecycleConfiguration`, `ObjectLockConfigurationNotFoundError`,
/// `BucketAlreadyOwnedByYou`, `BucketNotEmpty`: API Reference, "Error responses"; an empty LocationConstraint means
/// us-east-1: GetBucketLocation.
extension S3State {
    private static let minimumSizeField = "x-amz-transition-default-minimum-object-size"

    mutating func createBucket(_ request: S3Request) throws(S3Error) -> S3Reply {
        guard request.bucket.wholeMatch(of: /[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/) != nil else {
            throw S3Error(400, "InvalidBucketName", "The specified bucket is not valid.")
        }
        guard buckets[request.bucket] == nil else {
            throw S3Error(
                409, "BucketAlreadyOwnedByYou",
                "Your previous request to create the named bucket succeeded and you already own it.",
                details: [("BucketName", request.bucket)])
        }
        var region = "us-east-1"
        if !request.body.isEmpty {
            guard let root = XMLTree.read(request.body), root.name == "CreateBucketConfiguration" else {
                throw .malformedXML
            }
            region = root.text("LocationConstraint") ?? region
        }
        guard region == options.region else {
            throw S3Error(
                400, "IllegalLocationConstraintException",
                region == "us-east-1"
                    ? "The unspecified location constraint is incompatible for the region specific endpoint this request was sent to."
                    : "The \(region) location constraint is incompatible for the region specific endpoint this request was sent to."
            )
        }
        buckets[request.bucket] = Bucket(region: region)
        return S3Reply(200, fields: [.init(name: "Location", value: "/\(request.bucket)")])
    }

    mutating func onBucket(_ operation: S3Operation, _ call: Call) throws(S3Error) -> S3Reply {
        let name = call.request.bucket
        let bucket = self[bucket: name]
        switch operation {
        case .headBucket:
            try call.who.require("s3:ListBucket")
            return S3Reply(200, fields: [.init(name: "x-amz-bucket-region", value: bucket.region)])
        case .getBucketLocation:
            try call.who.require("s3:GetBucketLocation")
            let region = bucket.region == "us-east-1" ? "" : bucket.region
            return S3Reply(
                200, xml: "<LocationConstraint\(XMLText.namespace)>\(region)</LocationConstraint>")
        case .getBucketLifecycle:
            try call.who.require("s3:GetLifecycleConfiguration")
            guard let lifecycle = bucket.lifecycle else {
                throw S3Error(
                    404, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist",
                    details: [("BucketName", name)])
            }
            return S3Reply(
                200,
                fields: [
                    .init(name: "Content-Type", value: "application/xml"),
                    .init(name: Self.minimumSizeField, value: lifecycle.transitionMinimumSize),
                ], body: Array(lifecycle.document.utf8))
        case .putBucketLifecycle:
            try call.who.require("s3:PutLifecycleConfiguration")
            try checkDigestIsThere(call.request)
            var lifecycle = try Lifecycle(call.request.body)
            if let size = call.request.field(Self.minimumSizeField) { lifecycle.transitionMinimumSize = size }
            self[bucket: name].lifecycle = lifecycle
            return S3Reply(200, fields: [.init(name: Self.minimumSizeField, value: lifecycle.transitionMinimumSize)])
        case .deleteBucketLifecycle:
            try call.who.require("s3:PutLifecycleConfiguration")
            self[bucket: name].lifecycle = nil
            return S3Reply(204)
        case .deleteBucket:
            try call.who.require("s3:DeleteBucket")
            expireAll(now: call.now)
            guard self[bucket: name].versions.isEmpty else {
                throw S3Error(
                    409, "BucketNotEmpty", "The bucket you tried to delete is not empty",
                    details: [("BucketName", name)])
            }
            buckets[name] = nil
            return S3Reply(204)
        default: return try onBucketSettings(operation, call, bucket)
        }
    }

    private mutating func onBucketSettings(
        _ operation: S3Operation, _ call: Call, _ bucket: Bucket
    ) throws(S3Error) -> S3Reply {
        let name = call.request.bucket
        switch operation {
        case .getBucketVersioning:
            try call.who.require("s3:GetBucketVersioning")
            let status = bucket.versioning.map { XMLText.element("Status", $0.rawValue) } ?? ""
            return S3Reply(
                200, xml: "<VersioningConfiguration\(XMLText.namespace)>\(status)</VersioningConfiguration>")
        case .putBucketVersioning:
            try call.who.require("s3:PutBucketVersioning")
            guard let root = XMLTree.read(call.request.body), root.name == "VersioningConfiguration",
                let status = root.text("Status").flatMap({ Bucket.Versioning(rawValue: $0) })
            else { throw .malformedXML }
            self[bucket: name].versioning = status
            return S3Reply(200)
        case .getBucketEncryption:
            try call.who.require("s3:GetEncryptionConfiguration")
            let algorithm = if case .kms? = bucket.encryption { "aws:kms" } else { "AES256" }
            return S3Reply(
                200,
                xml: "<ServerSideEncryptionConfiguration\(XMLText.namespace)><Rule><ApplyServerSideEncryptionByDefault>"
                    + XMLText.element("SSEAlgorithm", algorithm)
                    + "</ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>")
        case .putBucketEncryption:
            try call.who.require("s3:PutEncryptionConfiguration")
            guard let rule = XMLTree.read(call.request.body)?["Rule"],
                let standard = rule["ApplyServerSideEncryptionByDefault"]
            else { throw .malformedXML }
            self[bucket: name].encryption =
                standard.text("SSEAlgorithm") == "AES256"
                ? .s3
                : .kms(
                    key: standard.text("KMSMasterKeyID") ?? "aws/s3",
                    usesBucketKey: rule.text("BucketKeyEnabled") == "true")
            return S3Reply(200)
        default:
            throw S3Error(
                404, "ObjectLockConfigurationNotFoundError",
                "Object Lock configuration does not exist for this bucket", details: [("BucketName", name)])
        }
    }

    private func checkDigestIsThere(_ request: S3Request) throws(S3Error) {
        let hasOther = request.fields.contains { $0.name.hasPrefix("x-amz-checksum-") }
        guard request.field("content-md5") != nil || hasOther else {
            throw S3Error(
                400, "InvalidRequest", "Missing required header for this request: Content-MD5 OR x-amz-checksum-*")
        }
        try checkDigests(request, request.body)
    }
}
