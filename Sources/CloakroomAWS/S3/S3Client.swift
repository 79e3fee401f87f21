package import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One bucket of S3, or of a store that speaks like it.
package actor S3Client {
    let upstream: AWSServiceClient
    let bucket: String
    let store: ObjectStore
    let settings: RenewalSettings
    let runtime: RuntimeDependencies
    var selfCopySupport = SelfCopySupport()
    var tagPreservation = TagPreservation.unknown
    /// Learnt from refusals: condition fields that the store does not know when a multipart upload is completed.
    var unsupportedOnCompletion: Set<String> = []
    var backgroundCopies = BackgroundCopies()
    /// For copies of the second it was made in.
    var cachedSigner: CachedCopySigner?
    private nonisolated let isolation: any Actor

    package nonisolated var unownedExecutor: UnownedSerialExecutor { isolation.unownedExecutor }

    /// - Parameters:
    ///   - endpoint: of this bucket.
    ///   - store: which is there, for what it does otherwise than S3.
    ///   - isolation: the actor on whose executor the client runs; `nil` for one of its own.
    ///   - onAttempt: told of every attempt.
    package init(
        bucket: String, endpoint: Endpoint, store: ObjectStore = .aws, transport: any Transport,
        credentials: CredentialSource, renewal: RenewalSettings = .init(), retry: RetrySettings = .init(),
        runtime: RuntimeDependencies = .init(),
        isolation: (any Actor)? = nil, onAttempt: @escaping @Sendable (Attempt) -> Void = { _ in }
    ) {
        self.isolation = isolation ?? DefaultIsolation()
        self.bucket = bucket
        self.store = store
        self.settings = renewal
        self.runtime = runtime
        upstream = AWSServiceClient(
            .init(
                service: .s3, endpoint: endpoint, transport: transport, credentials: credentials, retry: retry,
                runtime: runtime, onAttempt: onAttempt))
    }

    /// - Returns: `nil` when there is no object, as far as S3 tells without a body.
    /// - Throws: ``AWSError``; status 403 also for a missing object that we may not list.
    package func head(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> StoredObject? {
        var counts = AttemptCounts()
        return try await head(object, deadline: deadline, counts: &counts)
    }

    func head(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> StoredObject? {
        try await upstream.call(
            message("HEAD", object), deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            switch response.status {
            case 200:
                guard let stored = StoredObject(response) else { throw AWSError(response, error: nil) }
                return stored
            case 404:
                return nil
            default:
                throw Self.headFault(response)
            }
        }
    }

    /// One attempt, after a copy that took too long.
    func headOnce(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> StoredObject? {
        try await upstream.call(
            message("HEAD", object), attempts: .one, deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            guard response.status == 200 else { throw AWSError(response, error: nil) }
            return StoredObject(response)
        }
    }

    /// A refusal without a body is no fault here: there may be a reason that HEAD cannot tell.
    func headOrRefusal(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> Result<StoredObject, AWSError> {
        try await upstream.call(
            message("HEAD", object), deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            let fault = AWSError(response, error: nil)
            switch response.status {
            case 200:
                guard let stored = StoredObject(response) else { throw fault }
                return .success(stored)
            case 400, 403, 404: return .failure(fault)
            default: throw fault
            }
        }
    }

    /// Whether there is an object, by S3's own word: `NoSuchKey`, not any 404.
    ///
    /// - Throws: ``AWSError``: status 403 when we may not know, code `NoSuchBucket` when there is not even a bucket.
    package func exists(_ object: ObjectAddress, deadline: ContinuousClock.Instant) async throws(AWSError) -> Bool {
        var counts = AttemptCounts()
        return try await exists(object, deadline: deadline, counts: &counts)
    }

    func exists(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> Bool {
        var message = message("GET", object)
        message.fields.add("range", "bytes=0-0")
        return try await upstream.call(
            message, deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            if response.status == 200 || response.status == 206 { return true }
            let error = AWSErrorResponse(response.body)
            switch (response.status, error?.code) {
            case (404, "NoSuchKey"): return false
            // An empty object has no first byte.
            case (416, _): return true
            default: throw AWSError(response, error: error)
            }
        }
    }

    func message(_ method: String, _ object: ObjectAddress) -> SigV4.Message {
        var message = SigV4.Message(
            method: method, path: object.path(at: upstream.endpoint), fields: ["host": upstream.endpoint.host],
            payloadHash: SigV4.emptyPayloadHash)
        if let owner = settings.expectedBucketOwner { message.fields.add("x-amz-expected-bucket-owner", owner) }
        return message
    }

    /// HEAD has no body, so no code: 400 may be an expired token, 403 a skewed clock.
    private static func headFault(_ response: UpstreamResponse) -> AWSError {
        let fault = AWSError(response, error: nil)
        switch response.status {
        case 400: return fault.with(.staleCredentials)
        case 403: return fault.with(.skewedClock)
        default: return fault
        }
    }
}

/// A key, encoded for the places where it is sent.
package struct ObjectAddress: Sendable, Hashable {
    /// Every byte but `A-Za-z0-9-._~/` encoded, once; `+` as well, which S3 would take for a space.
    package let encodedKey: String

    /// - Returns: `nil` for a key that S3 cannot have: empty, or over 1,024 bytes.
    package init?(key: String) {
        guard (1...1024).contains(key.utf8.count) else { return nil }
        encodedKey = PercentEncoding.encode(key, keepingSlashes: true)
    }

    package func path(at endpoint: Endpoint) -> String { endpoint.path + "/" + encodedKey }
}

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

    /// Header fields of a PUT that it heeds though they are not signed: to copy another object, and to change what may be done
    /// with this one. With their names among the signed ones it refuses them.
    ///
    /// S3 refuses every `x-amz-` field that is not signed (S3 API Reference, "Authenticating Requests"), as SeaweedFS does.
    var heededUnsigned: [String] {
        switch self {
        case .aws, .seaweedfs: []
        case .ceph:
            [
                "x-amz-acl", "x-amz-copy-source", "x-amz-copy-source-range", "x-amz-grant-full-control",
                "x-amz-grant-read", "x-amz-grant-read-acp", "x-amz-grant-write", "x-amz-grant-write-acp",
                "x-amz-object-lock-legal-hold", "x-amz-object-lock-mode", "x-amz-object-lock-retain-until-date",
                "x-amz-storage-class", "x-amz-tagging", "x-amz-website-redirect-location",
            ]
        }
    }

    /// For a sentence.
    package var name: String {
        switch self {
        case .aws: "Amazon S3"
        case .ceph: "Ceph's RADOS Gateway"
        case .seaweedfs: "SeaweedFS"
        }
    }

    /// Condition keys, in lower case, that no request has there: what stands under one is never allowed.
    package var missingConditionKeys: Set<String> {
        switch self {
        case .aws, .ceph: []
        case .seaweedfs: ["aws:currenttime", "aws:epochtime", "aws:securetransport", "s3:max-keys"]
        }
    }

    package var conditionsKnowTime: Bool { !missingConditionKeys.contains("aws:currenttime") }

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
