import CloakroomCrypto
package import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// An object with its bytes.
package struct FetchedObject: Sendable, Equatable {
    package let object: StoredObject
    package let body: [UInt8]
}

/// What S3 tells of an object it has just stored.
package struct PutResponse: Sendable, Equatable {
    /// With its quotation marks.
    package let entityTag: String
    package let expiration: Date?
}

/// Whether there may be an object already when one is put.
package enum PutCondition: Sendable, Equatable {
    case none
    /// There is none.
    case ifNoneMatch
    /// There is this one still, by its entity tag.
    case ifMatch(entityTag: String)

    var fields: HeaderFields {
        switch self {
        case .none: [:]
        case .ifNoneMatch: ["if-none-match": "*"]
        case .ifMatch(let tag): ["if-match": tag]
        }
    }

    /// Empty for none.
    var fieldName: String { fields.first?.name ?? "" }
}

extension S3Client {
    /// Stores an object of ours with a single PUT.
    ///
    /// - Parameter fields: what S3 is to keep with it, such as `cache-control` or `x-amz-tagging`.
    /// - Throws: ``AWSError``: status 412, or 409 when there is a concurrent write, if the condition does not hold.
    @discardableResult
    package func put(
        _ object: ObjectAddress, body: [UInt8], contentType: String, fields: HeaderFields = [:],
        condition: PutCondition = .none, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> PutResponse {
        do {
            return try await putOnce(
                object, body: body, contentType: contentType, fields: fields, condition: condition, deadline: deadline)
        } catch {
            // Ceph compares with the entity tag without its quotation marks, so what AWS wants never holds there. Only where
            // the object is the same still is the other form sent: a store that ignored it would overwrite another one.
            guard error.status == 412, case .ifMatch(let tag) = condition, let bare = Self.bare(tag),
                let found = try await head(object, deadline: deadline), found.entityTag == tag
            else { throw error }
            return try await putOnce(
                object, body: body, contentType: contentType, fields: fields, condition: .ifMatch(entityTag: bare),
                deadline: deadline)
        }
    }

    /// Copies one object of the bucket over another.
    package func copy(
        _ source: ObjectAddress, to destination: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(AWSError) {
        var message = message("PUT", destination)
        message.fields.add("x-amz-copy-source", "/\(bucket)/\(source.encodedKey)")
        var counts = AttemptCounts()
        try await upstream.call(message, deadline: deadline, counts: &counts, decode: Self.done)
    }

    /// - Returns: the tag between its quotation marks; `nil` for one without.
    private static func bare(_ entityTag: String) -> String? {
        guard entityTag.utf8.count > 2, entityTag.hasPrefix("\""), entityTag.hasSuffix("\"") else { return nil }
        return String(entityTag.dropFirst().dropLast())
    }

    private func putOnce(
        _ object: ObjectAddress, body: [UInt8], contentType: String, fields: HeaderFields,
        condition: PutCondition, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> PutResponse {
        var message = message("PUT", object)
        message.payloadHash = SHA256.hash(body).hexadecimal
        message.fields.add("content-type", contentType)
        message.fields.add(Checksum.fields(of: body))
        message.fields.add(fields)
        message.fields.add(condition.fields)
        var counts = AttemptCounts()
        do {
            return try await upstream.call(
                message, body: body, deadline: deadline, counts: &counts
            ) { response throws(AWSError) in
                try Self.done(response)
                guard let tag = response.fields["etag"], !tag.isEmpty else { throw AWSError(response, error: nil) }
                return PutResponse(entityTag: tag, expiration: ObjectExpiration.date(response.fields))
            }
        } catch {
            // An earlier attempt may have stored it, and its response was lost.
            guard error.status == 412, condition != .none, counts.attempts > 1,
                let found = try await get(object, deadline: deadline), found.body == body
            else { throw error }
            return PutResponse(entityTag: found.object.entityTag, expiration: found.object.expiration)
        }
    }

    /// Reads a small object whole.
    ///
    /// - Returns: `nil` when S3 says `NoSuchKey`.
    /// - Throws: ``AWSError``: status 403 when we may not know; code `TooLarge` beyond what the transport takes.
    package func get(_ object: ObjectAddress, deadline: ContinuousClock.Instant) async throws(AWSError)
        -> FetchedObject?
    {
        var counts = AttemptCounts()
        return try await upstream.call(
            message("GET", object), deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            if response.status == 200, let stored = StoredObject(response) {
                return FetchedObject(object: stored, body: response.body)
            }
            let error = AWSErrorResponse(response.body)
            guard response.status == 404, error?.code == "NoSuchKey" else { throw AWSError(response, error: error) }
            return nil
        }
    }

    /// Deletes an object, or on a versioned bucket hides it; that there is none is no fault.
    package func delete(_ object: ObjectAddress, deadline: ContinuousClock.Instant) async throws(AWSError) {
        var counts = AttemptCounts()
        try await upstream.call(
            message("DELETE", object), deadline: deadline, counts: &counts, decode: Self.deleted)
    }

    /// S3 API Reference, DeleteObject: 204. Another success, such as a page with 200, is of something in between.
    static func deleted(_ response: UpstreamResponse) throws(AWSError) {
        guard response.status == 204 else { throw AWSError(response, error: AWSErrorResponse(response.body)) }
    }
}
