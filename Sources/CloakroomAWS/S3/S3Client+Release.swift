import CloakroomCrypto
import CloakroomHTTP

/// How an object is released before its rule ends it.
package enum ReleaseMode: String, Sendable, CaseIterable {
    /// It is deleted at once.
    case delete
    /// It gets a tag, and the bucket's rule for that tag deletes it within two days. Until then it can be read.
    case tag
}

/// What became of one object that was to be released.
package enum Release: Sendable, Equatable {
    /// There is no such object any more, or there was none.
    ///
    /// - Parameter keepsVersion: whether the bucket keeps its bytes as an older version.
    case deleted(keepsVersion: Bool)
    /// It has the tag.
    ///
    /// - Parameter isVersioned: whether the bucket will keep its bytes once the rule has deleted it.
    case tagged(isVersioned: Bool)
    /// Still failing after retries; later it may not.
    case unavailable(retryAfter: Duration?, code: String)
    /// The worker's permissions, bucket or credentials are not as the settings say.
    case misconfigured(code: String)
}

/// The tag of a released object, for which the bucket has a rule.
package enum ReleaseTag {
    package static let key = "cloakroom-released"
    package static let value = "true"
    /// Of the rule; S3 counts from when the object was written.
    package static let days = 1
}

extension S3Client {
    /// Releases an object; that there is none is a success.
    package func release(
        _ object: ObjectAddress, _ mode: ReleaseMode, deadline: ContinuousClock.Instant
    ) async -> Release {
        do throws(AWSError) {
            switch mode {
            case .delete: return .deleted(keepsVersion: try await deleteReleased(object, deadline: deadline))
            case .tag: return try await tagReleased(object, deadline: deadline)
            }
        } catch {
            return Release(error)
        }
    }

    /// - Returns: whether the store left a delete marker (S3 API Reference, DeleteObject, `x-amz-delete-marker`).
    private func deleteReleased(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> Bool {
        var counts = AttemptCounts()
        return try await upstream.call(
            message("DELETE", object), deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            if response.status == 404, AWSErrorResponse(response.body)?.code == "NoSuchKey" { return false }
            try Self.deleted(response)
            return response.fields["x-amz-delete-marker"] == "true"
        }
    }

    private func tagReleased(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> Release {
        let (message, body) = taggingRequest([ReleaseTag.key: ReleaseTag.value], for: object)
        var counts = AttemptCounts()
        return try await upstream.call(
            message, body: body, deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            let isHidden = response.fields["x-amz-delete-marker"] == "true"
            if response.status == 404 || response.status == 405, isHidden { return .deleted(keepsVersion: true) }
            if response.status == 404, AWSErrorResponse(response.body)?.code == "NoSuchKey" {
                return .deleted(keepsVersion: false)
            }
            try Self.tagged(response)
            let version = response.fields["x-amz-version-id"] ?? "null"
            return .tagged(isVersioned: version != "null")
        }
    }

    /// What a renewal says of a name that is nowhere among the assets.
    ///
    /// - Parameter key: where the image of a chat would be that has the name.
    /// - Returns: ``Renewal/Outcome/notFound`` only when S3 says `NoSuchKey` of it as well;
    ///   ``Renewal/Outcome/accessDenied(code:)`` where the worker may not look.
    package func renewal(
        ofChatImage key: String, deadline: ContinuousClock.Instant
    ) async -> Renewal.Outcome {
        guard let object = ObjectAddress(key: key) else { return .notFound }
        do throws(AWSError) {
            return try await exists(object, deadline: deadline) ? .unrenewableObject(code: "ChatImage") : .notFound
        } catch {
            let outcome = Renewal.Outcome(error)
            // Of 400 and 405 no other key tells whether they are this one's own.
            if case .refused(let code) = outcome { return .misconfigured(code: code) }
            return outcome
        }
    }
}

extension Release {
    init(_ fault: AWSError) {
        switch fault.kind {
        case .throttled, .transient, .noCredentials, .cancelled:
            self = .unavailable(retryAfter: fault.retryAfter, code: fault.code)
        case .staleCredentials, .skewedClock, .refused: self = .misconfigured(code: fault.code)
        }
    }
}
