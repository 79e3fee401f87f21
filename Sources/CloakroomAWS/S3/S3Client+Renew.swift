import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension S3Client {
    /// Lets an object's life start anew, by copying it onto itself.
    ///
    /// AWS takes that as soon as the storage class is named: one request. Where that is not enough, because the store
    /// refuses it, because the class is to be preserved, or because of what the object is, HEAD tells what must be sent
    /// again, and the copy is made only of the object that was looked at.
    ///
    /// A large object is not waited for when its copy outlasts one attempt: the copy goes on, and is told of when it is
    /// asked for again.
    package func renew(key: String, deadline: ContinuousClock.Instant) async -> Renewal {
        var counts = AttemptCounts()
        guard let object = ObjectAddress(key: key) else { return Renewal(outcome: .invalidKey, counts: counts) }
        if !backgroundCopies.isEmpty, let outcome = backgroundCopies.outcome(of: object, now: runtime.now()) {
            return Renewal(outcome: outcome, counts: counts, isOfEarlierCopy: true)
        }
        do {
            let outcome = try await renew(object, deadline: deadline, counts: &counts)
            return Renewal(outcome: outcome, counts: counts)
        } catch {
            return Renewal(outcome: Renewal.Outcome(error), counts: counts)
        }
    }

    private func renew(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> Renewal.Outcome {
        let directive = selfCopySupport.directive(in: settings.mode, now: runtime.now)
        guard case .named = settings.storageClass, directive == .copy else {
            return try await renewAfterHead(object, directive, deadline: deadline, counts: &counts)
        }
        let response: CopyResponse
        do {
            response = try await copyWithoutHead(object, deadline: deadline, counts: &counts)
        } catch {
            if let outcome = try await outcome(ofTimedOut: object, after: error, deadline: deadline, counts: &counts) {
                return outcome
            }
            response = try await copyWithoutHead(object, isRetry: true, deadline: deadline, counts: &counts)
        }
        switch response {
        case .copied(let expiration):
            selfCopySupport.forget()
            return .renewed(expiration: expiration)
        case .modifiedSince: return .recentlyWritten(expiration: nil)
        case .notFound: return .notFound
        case .archived: return .archived
        case .invalidKey: return .invalidKey
        case .unrenewableObject(let code): return .unrenewableObject(code: code)
        case .preconditionFailed, .unsuitable:
            return try await renewAfterHead(object, .copy, deadline: deadline, counts: &counts)
        case .selfCopyRefused:
            guard settings.mode == .auto else { return .misconfigured(code: "InvalidRequest") }
            selfCopySupport.wasRefused(at: runtime.now())
            return try await renewAfterHead(object, .replace, deadline: deadline, counts: &counts)
        }
    }

    private func renewAfterHead(
        _ object: ObjectAddress, _ directive: CopyRequest.MetadataDirective, deadline: ContinuousClock.Instant,
        counts: inout AttemptCounts
    ) async throws(AWSError) -> Renewal.Outcome {
        var fault = AWSError(.transient, status: 412, code: "ChangedMeanwhile")
        // Twice: another writer may come in between.
        for _ in 0..<2 {
            switch try await headResult(at: object, deadline: deadline, counts: &counts) {
            case .outcome(let outcome): return outcome
            case .contradiction(let refusal): fault = refusal
            case .found(let stored):
                if let outcome = outcomeWithoutCopy(stored) { return outcome }
                if stored.byteCount ?? 0 > MultipartCopy.maximumSingleCopyBytes {
                    return continueInBackground(with: stored, object)
                }
                do {
                    let outcome = try await copyAfterHead(
                        stored, object, directive, deadline: deadline, counts: &counts)
                    if let outcome { return outcome }
                } catch {
                    guard error.isTimeout, stored.isLarge else { throw error }
                    return continueInBackground(with: stored, object)
                }
            }
        }
        throw fault
    }

    /// HEAD decides whether a copy is slow because the object is large.
    ///
    /// - Returns: `nil` when the copy may be tried again as it was.
    /// - Throws: `fault` when it may not.
    private func outcome(
        ofTimedOut object: ObjectAddress, after fault: AWSError, deadline: ContinuousClock.Instant,
        counts: inout AttemptCounts
    ) async throws(AWSError) -> Renewal.Outcome? {
        guard fault.isTimeout else { throw fault }
        let stored = try? await headOnce(object, deadline: deadline, counts: &counts)
        if let stored, let outcome = outcomeWithoutCopy(stored) { return outcome }
        if let stored, stored.isLarge { return continueInBackground(with: stored, object) }
        guard upstream.retriesAfterTimeout else { throw fault }
        return nil
    }

    enum HeadResult {
        case found(StoredObject)
        case outcome(Renewal.Outcome)
        /// HEAD says no, and gives no reason; GET says yes.
        case contradiction(AWSError)
    }

    /// HEAD refuses without a body, so without a reason: a wrong bucket looks like a missing object, an expired token like
    /// an object with its owner's key. GET tells them apart, and its error lets a stale token or clock be corrected.
    func headResult(
        at object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> HeadResult {
        let refusal: AWSError
        switch try await headOrRefusal(object, deadline: deadline, counts: &counts) {
        case .success(let stored): return .found(stored)
        case .failure(let fault): refusal = fault
        }
        do {
            let exists = try await exists(object, deadline: deadline, counts: &counts)
            return exists ? .contradiction(refusal) : .outcome(.notFound)
        } catch {
            switch (error.status, error.code) {
            case (400, "InvalidRequest"): return .outcome(.unrenewableObject(code: error.code))
            case (400, let code) where CopyResponse.isOfKey(code): return .outcome(.invalidKey)
            case (403, "InvalidObjectState"), (403, "ObjectNotInActiveTierError"): return .outcome(.archived)
            default: throw error
            }
        }
    }

    func outcomeWithoutCopy(_ stored: StoredObject) -> Renewal.Outcome? {
        // Not a precondition of the copy: S3 ignores it beside an entity tag that matches.
        if let written = stored.lastModified, settings.minimumAge > .zero,
            written.addingTimeInterval(settings.minimumAge.inSeconds) > upstream.time
        {
            return .recentlyWritten(expiration: stored.expiration)
        }
        if stored.isArchived { return .archived }
        guard stored.hasReadableSize else { return .unrenewableObject(code: "UnreadableSize") }
        // The copy would have to send them.
        guard stored.hasSendableFields else { return .unrenewableObject(code: "UnreadableMetadata") }
        if stored.isOwnerEncrypted { return .unrenewableObject(code: "OwnerEncrypted") }
        // A copy would be a newer version without a lock.
        if stored.isLocked(at: upstream.time) { return .unrenewableObject(code: "ObjectLocked") }
        return nil
    }

    /// - Returns: `nil` when it is no longer the object that was looked at.
    private func copyAfterHead(
        _ stored: StoredObject, _ object: ObjectAddress, _ directive: CopyRequest.MetadataDirective,
        deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> Renewal.Outcome? {
        guard let attributes = stored.attributes, let metadata = directive == .replace ? stored.metadata : [:] else {
            return .unrenewableObject(code: "UnreadableMetadata")
        }
        var request = request(directive)
        request.storageClass = storageClass(of: stored)
        request.attributes = attributes
        request.metadata = metadata
        request.entityTag = stored.entityTag
        let guarded = directive == .replace && stored.tagCount > 0
        let response: CopyResponse
        if guarded {
            guard tagPreservation != .lost else { return .unrenewableObject(code: "TagsWouldBeLost") }
            response = try await copyPreservingTags(request, object, deadline: deadline, counts: &counts)
        } else {
            response = try await copy(
                request, object, retriesTimeouts: !stored.isLarge, deadline: deadline, counts: &counts)
        }
        switch response {
        case .copied(let expiration):
            if directive == .copy { selfCopySupport.forget() }
            return .renewed(expiration: expiration)
        case .preconditionFailed, .modifiedSince: return nil
        case .notFound: return .notFound
        case .archived: return .archived
        case .invalidKey: return .invalidKey
        case .unrenewableObject(let code), .unsuitable(let code): return .unrenewableObject(code: code)
        case .selfCopyRefused:
            guard settings.mode == .auto, directive == .copy else {
                selfCopySupport.forget()
                return .misconfigured(code: "InvalidRequest")
            }
            selfCopySupport.wasRefused(at: runtime.now())
            return try await copyAfterHead(stored, object, .replace, deadline: deadline, counts: &counts)
        }
    }

    func storageClass(of stored: StoredObject) -> String {
        switch settings.storageClass {
        case .preserved: stored.storageClass
        case .named(let name): name
        }
    }

    /// One copy of an object that was not looked at; what takes too long is not tried again until it has been.
    private func copyWithoutHead(
        _ object: ObjectAddress, isRetry: Bool = false, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> CopyResponse {
        try await upstream.call(
            attempts: isRetry ? .afterTimeout : .untilTimeout, deadline: deadline, counts: &counts
        ) { signing in
            cachedSigner(for: signing).request(for: object)
        } decode: { response throws(AWSError) in
            try CopyResponse(response)
        }
    }

    private func cachedSigner(for signing: AWSServiceClient.SigningContext) -> CachedCopySigner {
        if let cachedSigner, cachedSigner.matches(signing) { return cachedSigner }
        var request = request(.copy)
        if case .named(let name) = settings.storageClass { request.storageClass = name }
        if let encryption = settings.encryption { request.attributes = encryption.fields }
        if settings.minimumAge > .zero {
            request.unmodifiedSince = Timestamp(signing.time.date.addingTimeInterval(-settings.minimumAge.inSeconds))
        }
        let cachedSigner = CachedCopySigner(request, upstream, signing)
        self.cachedSigner = cachedSigner
        return cachedSigner
    }

    func copy(
        _ request: CopyRequest, _ object: ObjectAddress, retriesTimeouts: Bool = true,
        deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> CopyResponse {
        try await upstream.call(
            request.message(for: object, at: upstream.endpoint),
            attempts: retriesTimeouts ? .all : .untilTimeout, deadline: deadline, counts: &counts
        ) { response throws(AWSError) in try CopyResponse(response) }
    }

    func request(_ directive: CopyRequest.MetadataDirective) -> CopyRequest {
        CopyRequest(
            bucket: bucket, metadataDirective: directive, storageClass: nil, acl: settings.acl,
            expectedBucketOwner: settings.expectedBucketOwner)
    }
}

extension Duration {
    fileprivate var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
