import CloakroomCrypto
import CloakroomHTTP

/// Whether new versions of an object leave the old ones.
package enum BucketVersioning: String, Sendable {
    case never
    case enabled = "Enabled"
    /// Versions that were are still there.
    case suspended = "Suspended"
}

/// What HEAD tells of a bucket.
package enum BucketPresence: Sendable, Equatable {
    /// The Region as the store tells it; AWS does.
    case here(region: String?)
    /// In another Region than the one that the request was sent to.
    case elsewhere(region: String?)
    case accessDenied(region: String?)
    case missing
}

extension S3Client {
    static let namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

    /// - Returns: an empty configuration when the bucket has none.
    package func lifecycle(deadline: ContinuousClock.Instant) async throws(AWSError) -> LifecycleConfiguration {
        try await bucketCall("GET", "lifecycle", deadline) { response throws(AWSError) in
            try LifecycleConfiguration(response)
        }
    }

    /// Puts the configuration in place of one that was read, unless it has changed meanwhile.
    ///
    /// S3 knows no condition here, so it is read once more right before; the moment in between stays.
    /// - Throws: ``AWSError``: code `ChangedMeanwhile`; else as ``put(_:deadline:)``.
    package func put(
        _ lifecycle: LifecycleConfiguration, inPlaceOf former: LifecycleConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(AWSError) {
        guard try await self.lifecycle(deadline: deadline) == former else {
            throw AWSError(.refused, status: 412, code: "ChangedMeanwhile")
        }
        try await put(lifecycle, deadline: deadline)
    }

    /// Puts the configuration in place of whatever the bucket has.
    ///
    /// - Throws: ``AWSError``: code `RuleCount` for more rules than S3 takes, and for none.
    package func put(_ lifecycle: LifecycleConfiguration, deadline: ContinuousClock.Instant) async throws(AWSError) {
        guard (1...LifecycleConfiguration.maximumRules).contains(lifecycle.rules.count) else {
            throw AWSError(.refused, status: 400, code: "RuleCount")
        }
        let body = lifecycle.document
        // S3 wants a sum of this document, whichever; these are the SDKs'.
        var fields = Checksum.fields(of: body)
        if let size = lifecycle.transitionMinimumSize { fields.add(LifecycleConfiguration.minimumSizeField, size) }
        try await bucketCall(
            "PUT", "lifecycle", fields: fields, body: body, deadline, decode: Self.done)
    }

    /// Removes all rules.
    package func deleteLifecycle(deadline: ContinuousClock.Instant) async throws(AWSError) {
        try await bucketCall("DELETE", "lifecycle", deadline, decode: Self.done)
    }

    package func versioning(deadline: ContinuousClock.Instant) async throws(AWSError) -> BucketVersioning {
        try await bucketCall("GET", "versioning", deadline) { response throws(AWSError) in
            let root = try? XMLReader.read(response.body)
            guard response.status == 200, let root, root.hasName("VersioningConfiguration") else {
                throw AWSError(response, error: root.flatMap { AWSErrorResponse($0) })
            }
            return root.text(of: "Status").flatMap { BucketVersioning(rawValue: $0) } ?? .never
        }
    }

    /// Whose the bucket is: the ID that its access control list names.
    ///
    /// - Throws: ``AWSError``; status 403 without `s3:GetBucketAcl`.
    package func owner(deadline: ContinuousClock.Instant) async throws(AWSError) -> String {
        try await bucketCall("GET", "acl", deadline) { response throws(AWSError) in
            let root = try? XMLReader.read(response.body)
            guard response.status == 200, let root, root.hasName("AccessControlPolicy"),
                let owner = root["Owner"]?.text(of: "ID"), !owner.isEmpty
            else { throw AWSError(response, error: root.flatMap { AWSErrorResponse($0) }) }
            return owner
        }
    }

    /// Whose an object is: the ID that a listing names.
    ///
    /// - Parameter key: the whole of it, and the beginning of no other.
    /// - Returns: `nil` when the store names none.
    package func owner(ofKey key: String, deadline: ContinuousClock.Instant) async throws(AWSError) -> String? {
        let query = "fetch-owner=true&list-type=2&max-keys=1&prefix=\(PercentEncoding.encode(key))"
        return try await bucketCall("GET", query, deadline) { response throws(AWSError) in
            let root = try? XMLReader.read(response.body)
            guard response.status == 200, let root, root.hasName("ListBucketResult") else {
                throw AWSError(response, error: root.flatMap { AWSErrorResponse($0) })
            }
            guard let entry = root["Contents"], entry.text(of: "Key") == key else { return nil }
            return entry["Owner"]?.text(of: "ID")
        }
    }

    /// HEAD: a response to every caller who may list, and the Region even to those who may not.
    package func presence(deadline: ContinuousClock.Instant) async throws(AWSError) -> BucketPresence {
        try await bucketCall("HEAD", "", deadline) { response throws(AWSError) in
            let region = response.fields["x-amz-bucket-region"]
            let isElsewhere = region.map { $0 != upstream.endpoint.signingRegion } ?? false
            switch response.status {
            case 200: return .here(region: region)
            case 301: return .elsewhere(region: region)
            // A signature for another Region.
            case 400 where isElsewhere: return .elsewhere(region: region)
            case 403 where isElsewhere: return .elsewhere(region: region)
            case 403: return .accessDenied(region: region)
            case 404: return .missing
            default: throw AWSError(response, error: nil)
            }
        }
    }

    /// Makes the bucket, in the Region of the endpoint.
    ///
    /// - Returns: whether it was made; `false`: it is ours already.
    /// - Throws: ``AWSError``: code `BucketAlreadyExists` when another account owns it.
    package func createBucket(deadline: ContinuousClock.Instant) async throws(AWSError) -> Bool {
        let region = upstream.endpoint.signingRegion
        // In the oldest Region a bucket is made by saying nothing.
        let body =
            region == "us-east-1"
            ? []
            : XMLNode("CreateBucketConfiguration", [XMLNode("LocationConstraint", region)])
                .document(namespace: Self.namespace)
        return try await bucketCall("PUT", "", body: body, deadline) { response throws(AWSError) in
            if response.status == 409, AWSErrorResponse(response.body)?.code == "BucketAlreadyOwnedByYou" {
                return false
            }
            try Self.done(response)
            return true
        }
    }

    /// - Throws: ``AWSError``: code `BucketNotEmpty` when it is not.
    package func deleteBucket(deadline: ContinuousClock.Instant) async throws(AWSError) {
        try await bucketCall("DELETE", "", deadline, decode: Self.done)
    }

    /// A response without content.
    static func done(_ response: UpstreamResponse) throws(AWSError) {
        let error = AWSErrorResponse(response.body)
        guard response.status == 200 || response.status == 204, error == nil else {
            throw AWSError(response, error: error)
        }
    }

    /// - Parameter fields: those before `host`.
    func bucketMessage(
        _ method: String, _ query: String = "", fields: HeaderFields = [:], body: [UInt8] = []
    ) -> SigV4.Message {
        let path = upstream.endpoint.path
        var message = SigV4.Message(
            method: method, path: path.isEmpty ? "/" : path, query: query, fields: fields,
            payloadHash: SHA256.hash(body).hexadecimal)
        message.fields.add("host", upstream.endpoint.host)
        return message
    }

    /// A call that is of the bucket and of no object.
    func bucketCall<Value>(
        _ method: String, _ query: String, fields: HeaderFields = [:],
        body: [UInt8] = [], _ deadline: ContinuousClock.Instant, decode: (UpstreamResponse) throws(AWSError) -> Value
    ) async throws(AWSError) -> Value {
        var message = bucketMessage(method, query, fields: fields, body: body)
        if let owner = settings.expectedBucketOwner { message.fields.add("x-amz-expected-bucket-owner", owner) }
        var counts = AttemptCounts()
        return try await upstream.call(
            message, body: body, deadline: deadline, counts: &counts, decode: decode)
    }
}
