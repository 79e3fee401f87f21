package import HTTPValues

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One bucket of S3, or of a store that speaks like it.
package actor S3Client {
    let upstream: SignedUpstream
    let bucket: String
    let settings: RenewalSettings
    let surroundings: Surroundings
    var selfCopying = SelfCopying()
    var tagKeeping = TagKeeping.unknown
    /// Learnt from refusals: the fields of conditions that the store does not know when an upload in parts is completed.
    var refusedOnCompletion: Set<String> = []
    var largeCopies = LargeCopies()
    /// For copies of the second it was cut in.
    var stencil: CopyStencil?
    private nonisolated let place: any Actor

    package nonisolated var unownedExecutor: UnownedSerialExecutor { place.unownedExecutor }

    /// - Parameters:
    ///   - endpoint: of this bucket.
    ///   - place: the actor on whose executor the client runs; `nil` for one of its own.
    ///   - onAttempt: told of every try.
    package init(
        bucket: String, endpoint: Endpoint, transport: any Transport, credentials: CredentialSource,
        renewal: RenewalSettings = .init(), retry: RetrySettings = .init(), surroundings: Surroundings = .init(),
        place: (any Actor)? = nil, onAttempt: @escaping @Sendable (Attempt) -> Void = { _ in }
    ) {
        self.place = place ?? OwnPlace()
        self.bucket = bucket
        self.settings = renewal
        self.surroundings = surroundings
        upstream = SignedUpstream(
            .init(
                service: .s3, endpoint: endpoint, transport: transport, credentials: credentials, retry: retry,
                surroundings: surroundings, onAttempt: onAttempt))
    }

    /// - Returns: `nil` when there is no object, as far as S3 tells without a body.
    /// - Throws: ``Fault``; status 403 also for a missing object that we may not list.
    package func head(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(Fault) -> StoredObject? {
        var effort = Effort()
        return try await head(object, deadline: deadline, effort: &effort)
    }

    func head(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> StoredObject? {
        try await upstream.call(
            .headObject, message("HEAD", object), deadline: deadline, effort: &effort
        ) { response throws(Fault) in
            switch response.status {
            case 200:
                guard let stored = StoredObject(response) else { throw Fault(response, error: nil) }
                return stored
            case 404:
                return nil
            default:
                throw Self.headFault(response)
            }
        }
    }

    /// One try, after a copy that took too long.
    func headOnce(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> StoredObject? {
        try await upstream.call(
            .headObject, message("HEAD", object), attempts: .one, deadline: deadline, effort: &effort
        ) { response throws(Fault) in
            guard response.status == 200 else { throw Fault(response, error: nil) }
            return StoredObject(response)
        }
    }

    /// A refusal without a body is no fault here: there may be a reason that HEAD cannot tell.
    func headOrRefusal(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> Result<StoredObject, Fault> {
        try await upstream.call(
            .headObject, message("HEAD", object), deadline: deadline, effort: &effort
        ) { response throws(Fault) in
            let fault = Fault(response, error: nil)
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
    /// - Throws: ``Fault``: status 403 when we may not know, code `NoSuchBucket` when there is not even a bucket.
    package func exists(_ object: ObjectAddress, deadline: ContinuousClock.Instant) async throws(Fault) -> Bool {
        var effort = Effort()
        return try await exists(object, deadline: deadline, effort: &effort)
    }

    func exists(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> Bool {
        var message = message("GET", object)
        message.fields.add("range", "bytes=0-0")
        return try await upstream.call(
            .getObject, message, deadline: deadline, effort: &effort
        ) { response throws(Fault) in
            if response.status == 200 || response.status == 206 { return true }
            let error = ErrorAnswer(response.body)
            switch (response.status, error?.code) {
            case (404, "NoSuchKey"): return false
            // An empty object has no first byte.
            case (416, _): return true
            default: throw Fault(response, error: error)
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
    private static func headFault(_ response: UpstreamResponse) -> Fault {
        var fault = Fault(response, error: nil)
        if response.status == 400 { fault.kind = .staleCredentials }
        if response.status == 403 { fault.kind = .skewedClock }
        return fault
    }
}
