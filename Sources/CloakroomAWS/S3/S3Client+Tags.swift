import CloakroomCrypto
import CloakroomHTTP

/// Whether a store keeps the tags of an object whose metadata are replaced, as it is told to.
enum TagPreservation: Sendable {
    case unknown
    case kept
    case lost
}

extension S3Client {
    private static let tagRestoreTimeout: Duration = .seconds(10)

    /// The object's tags, by their keys.
    ///
    /// - Throws: ``AWSError``: code `NoSuchKey` when there is no object.
    package func tags(
        of object: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> [String: String] {
        var counts = AttemptCounts()
        return try await tags(of: object, deadline: deadline, counts: &counts)
    }

    func tags(
        of object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> [String: String] {
        var message = message("GET", object)
        message.query = "tagging"
        return try await upstream.call(
            message, deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            let root = try? XMLReader.read(response.body)
            guard response.status == 200, let root, root.hasName("Tagging") else {
                throw AWSError(response, error: root.flatMap { AWSErrorResponse($0) })
            }
            var tags: [String: String] = [:]
            for tag in root["TagSet"]?.children ?? [] {
                if let key = tag.text(of: "Key") { tags[key] = tag.text(of: "Value") ?? "" }
            }
            return tags
        }
    }

    /// Gives the object these tags, and no others (PutObjectTagging).
    private func put(
        _ tags: [String: String], on object: ObjectAddress, deadline: ContinuousClock.Instant,
        counts: inout AttemptCounts
    ) async throws(AWSError) {
        let (message, body) = taggingRequest(tags, for: object)
        try await upstream.call(
            message, body: body, deadline: deadline, counts: &counts, decode: Self.tagged)
    }

    /// S3 API Reference, PutObjectTagging: success has no body. One with a body is a page of something in between.
    static func tagged(_ response: UpstreamResponse) throws(AWSError) {
        try done(response)
        guard response.body.isEmpty else { throw AWSError(response, error: nil) }
    }

    /// PutObjectTagging, unsigned.
    func taggingRequest(_ tags: [String: String], for object: ObjectAddress) -> (message: SigV4.Message, body: [UInt8])
    {
        let set = tags.sorted { $0.key < $1.key }
            .map { XMLNode("Tag", [XMLNode("Key", $0.key), XMLNode("Value", $0.value)]) }
        let body = XMLNode("Tagging", [XMLNode("TagSet", set)]).document(namespace: Self.namespace)
        var message = message("PUT", object)
        message.query = "tagging"
        message.payloadHash = SHA256.hash(body).hexadecimal
        message.fields.add(Checksum.fields(of: body))
        return (message, body)
    }

    /// A copy with replaced metadata of an object with tags.
    ///
    /// Some stores (Ceph) drop the tags although they are told to copy them. So the first time they are read before and
    /// looked for afterwards; where they are gone, they are put back, and no object with tags is copied so again.
    func copyPreservingTags(
        _ request: CopyRequest, _ object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> CopyResponse {
        guard tagPreservation == .unknown else {
            return try await copy(request, object, deadline: deadline, counts: &counts)
        }
        let before = try await tags(of: object, deadline: deadline, counts: &counts)
        let attempts = counts.attempts
        let response: CopyResponse
        do {
            response = try await copy(request, object, deadline: deadline, counts: &counts)
        } catch {
            await restoreTags(before, on: object, after: error, since: attempts, isSingle: true, deadline, &counts)
            throw error
        }
        if case .copied = response, !before.isEmpty,
            try await !restoreTags(before, on: object, isSingle: true, deadline, &counts), tagPreservation == .unknown
        {
            tagPreservation = .kept
        }
        return response
    }

    /// After an error with which a copy may have been made all the same, by the last attempt or by an earlier one, and the
    /// response was lost.
    ///
    /// - Parameters:
    ///   - attempts: how many there were before those of the copy.
    ///   - isSingle: of a copy by one request: others like it are made no more where the tags were lost.
    func restoreTags(
        _ tags: [String: String], on object: ObjectAddress, after error: AWSError, since attempts: Int, isSingle: Bool,
        _ deadline: ContinuousClock.Instant, _ counts: inout AttemptCounts
    ) async {
        let isUncertain = [.transient, .cancelled].contains(error.kind) || counts.attempts > attempts + 1
        guard isUncertain, !tags.isEmpty else { return }
        if error.kind == .cancelled {
            await runtime.spawn { await self.restoreTagsIfLost(tags, on: object, isSingle: isSingle, deadline) }.value
        } else {
            _ = try? await restoreTags(tags, on: object, isSingle: isSingle, deadline, &counts)
        }
    }

    /// For a task of its own: nothing is sent in one that is cancelled.
    private func restoreTagsIfLost(
        _ tags: [String: String], on object: ObjectAddress, isSingle: Bool, _ deadline: ContinuousClock.Instant
    ) async {
        var counts = AttemptCounts()
        _ = try? await restoreTags(tags, on: object, isSingle: isSingle, deadline, &counts)
    }

    /// Puts tags back where a copy has lost them. This may outlast the deadline: the tags are stored nowhere else.
    ///
    /// - Returns: whether they were lost.
    func restoreTags(
        _ tags: [String: String], on object: ObjectAddress, isSingle: Bool, _ deadline: ContinuousClock.Instant,
        _ counts: inout AttemptCounts
    ) async throws(AWSError) -> Bool {
        let deadline = max(deadline, runtime.now() + Self.tagRestoreTimeout)
        // Other tags than before are from a concurrent write.
        guard try await self.tags(of: object, deadline: deadline, counts: &counts).isEmpty else { return false }
        if isSingle { tagPreservation = .lost }
        try await put(tags, on: object, deadline: deadline, counts: &counts)
        return true
    }

    /// The same, only where the object is made of these parts, by its entity tag: one that was written without tags meanwhile
    /// gets none.
    func restoreTags(
        _ tags: [String: String], on object: ObjectAddress, madeOf parts: [UploadedPart],
        _ deadline: ContinuousClock.Instant, _ counts: inout AttemptCounts
    ) async throws(AWSError) {
        guard let md5 = StoredObject.md5(ofParts: parts.map(\.entityTag)) else { return }
        let deadline = max(deadline, runtime.now() + Self.tagRestoreTimeout)
        let found = try await head(object, deadline: deadline, counts: &counts)
        guard let found, found.entityTag.filter({ $0 != "\"" }) == "\(md5)-\(parts.count)" else { return }
        _ = try await restoreTags(tags, on: object, isSingle: false, deadline, &counts)
    }

    /// Those of an object that is to be made anew; empty in a store without tags.
    ///
    /// - Throws: ``AWSError`` also when we may not read them: then we do not know what would be lost.
    func tagsToKeep(
        of object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> [String: String] {
        do {
            return try await tags(of: object, deadline: deadline, counts: &counts)
        } catch {
            guard error.status == 501 else { throw error }
            return [:]
        }
    }

    /// The value of `x-amz-tagging`.
    static func taggingField(_ tags: [String: String]) -> String {
        tags.sorted { $0.key < $1.key }
            .map { "\(PercentEncoding.encode($0.key))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    }
}
