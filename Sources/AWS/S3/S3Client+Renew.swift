import HTTPValues

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension S3Client {
    /// Lets an object's life start anew, by copying it onto itself.
    ///
    /// AWS takes that as soon as the storage class is named. A store that refuses it gets the metadata once more,
    /// read by HEAD, and only if the object is still the one they were read from.
    package func renew(key: String, deadline: ContinuousClock.Instant) async -> Renewal {
        var effort = Effort()
        guard let object = ObjectAddress(key: key) else { return Renewal(outcome: .invalidKey, effort: effort) }
        do {
            let outcome = try await renew(object, deadline: deadline, effort: &effort)
            return Renewal(outcome: outcome, effort: effort)
        } catch {
            return Renewal(outcome: Renewal.Outcome(error), effort: effort)
        }
    }

    private func renew(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> Renewal.Outcome {
        if settings.mode == .replace || (settings.mode == .auto && refusesSelfCopy) {
            return try await replace(object, deadline: deadline, effort: &effort)
        }
        switch try await copyAsItIs(object, deadline: deadline, effort: &effort) {
        case .copied(let expiration): return .renewed(expiration: expiration)
        case .preconditionFailed: return .fresh
        case .notFound: return .notFound
        case .archived: return .archived
        case .invalidKey: return .invalidKey
        case .unrenewable(let code): return .unrenewable(code: code)
        case .selfCopyRefused:
            guard settings.mode == .auto else { return .misconfigured(code: "InvalidRequest") }
            refusesSelfCopy = true
            return try await replace(object, deadline: deadline, effort: &effort)
        }
    }

    private func replace(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> Renewal.Outcome {
        // Twice, because somebody may write in between.
        for _ in 0..<2 {
            guard let stored = try await head(object, deadline: deadline, effort: &effort) else {
                // A wrong bucket gives the same 404; only an answer with a body tells.
                guard try await !exists(object, deadline: deadline, effort: &effort) else { continue }
                return .notFound
            }
            // Not a precondition of the copy: S3 ignores it beside an entity tag that matches.
            if let written = stored.lastModified, settings.minimumAge > .zero,
                written.addingTimeInterval(settings.minimumAge.inSeconds) > upstream.time
            {
                return .fresh
            }
            guard let metadata = stored.metadata else { return .unrenewable(code: "UnreadableMetadata") }
            var request = request(.replace, object)
            request.metadata = metadata
            request.entityTag = stored.entityTag
            switch try await copy(request, deadline: deadline, effort: &effort) {
            case .copied(let expiration): return .renewed(expiration: expiration)
            case .preconditionFailed: continue
            case .notFound: return .notFound
            case .archived: return .archived
            case .invalidKey: return .invalidKey
            case .unrenewable(let code): return .unrenewable(code: code)
            case .selfCopyRefused: return .misconfigured(code: "InvalidRequest")
            }
        }
        throw Fault(.transient, status: 412, code: "ChangedMeanwhile")
    }

    private func copyAsItIs(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> CopyAnswer {
        try await upstream.call(.copyObject, deadline: deadline, effort: &effort) { signing in
            stencil(for: signing, as: request(.copy, object)).request(for: object)
        } judge: { response throws(Fault) in
            try CopyAnswer(response)
        }
    }

    private func stencil(for signing: SignedUpstream.Signing, as request: CopyRequest) -> CopyStencil {
        if let stencil, stencil.isFor(signing) { return stencil }
        var request = request
        if settings.minimumAge > .zero {
            request.unmodifiedSince = Timestamp(signing.time.date.addingTimeInterval(-settings.minimumAge.inSeconds))
        }
        let stencil = CopyStencil(request, upstream, signing)
        self.stencil = stencil
        return stencil
    }

    private func copy(
        _ request: CopyRequest, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> CopyAnswer {
        try await upstream.call(
            .copyObject, request.message(at: upstream.endpoint), deadline: deadline, effort: &effort
        ) { response throws(Fault) in try CopyAnswer(response) }
    }

    private func request(_ directive: CopyRequest.MetadataDirective, _ object: ObjectAddress) -> CopyRequest {
        CopyRequest(
            bucket: bucket, object: object, metadataDirective: directive, storageClass: settings.storageClass,
            expectedBucketOwner: settings.expectedBucketOwner)
    }
}

extension Duration {
    fileprivate var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
