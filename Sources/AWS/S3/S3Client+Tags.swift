import CloakroomCrypto
import HTTPValues

/// Whether a store keeps the tags of an object whose metadata are replaced, as it is told to.
enum TagKeeping: Sendable {
    case unknown
    case kept
    case lost
}

extension S3Client {
    private static let patienceForTags: Duration = .seconds(10)

    /// The object's tags, by their keys.
    ///
    /// - Throws: ``Fault``: code `NoSuchKey` when there is no object.
    package func tags(
        of object: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(Fault) -> [String: String] {
        var effort = Effort()
        return try await tags(of: object, deadline: deadline, effort: &effort)
    }

    func tags(
        of object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> [String: String] {
        var message = message("GET", object)
        message.query = "tagging"
        return try await upstream.call(
            .getObjectTagging, message, deadline: deadline, effort: &effort
        ) { response throws(Fault) in
            let root = try? XMLReader.read(response.body)
            guard response.status == 200, let root, root.hasName("Tagging") else {
                throw Fault(response, error: root.flatMap { ErrorAnswer($0) })
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
        _ tags: [String: String], on object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) {
        let set = tags.sorted { $0.key < $1.key }
            .map { XMLNode("Tag", [XMLNode("Key", $0.key), XMLNode("Value", $0.value)]) }
        let body = XMLNode("Tagging", [XMLNode("TagSet", set)]).document(namespace: Self.namespace)
        var message = message("PUT", object)
        message.query = "tagging"
        message.payloadHash = SHA256.hash(body).hexadecimal
        message.fields.add(Checksum.field, Checksum.text(body))
        message.fields.add("x-amz-sdk-checksum-algorithm", "CRC32")
        try await upstream.call(
            .putObjectTagging, message, body: body, deadline: deadline, effort: &effort, judge: Self.done)
    }

    /// A copy with replaced metadata of an object with tags.
    ///
    /// Some stores (Ceph) drop the tags although they are told to copy them. So the first time they are read before and
    /// looked for afterwards; where they are gone, they are put back, and no object with tags is copied so again.
    func copyKeepingTags(
        _ request: CopyRequest, _ object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> CopyAnswer {
        guard tagKeeping == .unknown else {
            return try await copy(request, object, deadline: deadline, effort: &effort)
        }
        let before = try await tags(of: object, deadline: deadline, effort: &effort)
        let answer: CopyAnswer
        do {
            answer = try await copy(request, object, deadline: deadline, effort: &effort)
        } catch {
            // It may have been made, its answer lost.
            if error.kind == .transient, !before.isEmpty {
                _ = try? await putBack(before, on: object, deadline, &effort)
            }
            throw error
        }
        if case .copied = answer, !before.isEmpty, try await !putBack(before, on: object, deadline, &effort),
            tagKeeping == .unknown
        {
            tagKeeping = .kept
        }
        return answer
    }

    /// Puts tags back where a copy has lost them; there is time for that beyond the deadline, for nobody else knows them.
    ///
    /// - Returns: whether they were lost.
    private func putBack(
        _ tags: [String: String], on object: ObjectAddress, _ deadline: ContinuousClock.Instant, _ effort: inout Effort
    ) async throws(Fault) -> Bool {
        let deadline = max(deadline, surroundings.now() + Self.patienceForTags)
        // Others than before are somebody else's work.
        guard try await self.tags(of: object, deadline: deadline, effort: &effort).isEmpty else { return false }
        tagKeeping = .lost
        try await put(tags, on: object, deadline: deadline, effort: &effort)
        return true
    }

    /// The value of `x-amz-tagging` for an object made anew; `nil` without tags.
    ///
    /// - Throws: ``Fault`` also when we may not read them: then we do not know what would be lost.
    func taggingField(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> String? {
        let tags: [String: String]
        do {
            tags = try await self.tags(of: object, deadline: deadline, effort: &effort)
        } catch {
            // A store without tags.
            guard error.status == 501 else { throw error }
            return nil
        }
        guard !tags.isEmpty else { return nil }
        return tags.sorted { $0.key < $1.key }
            .map { "\(PercentEncoding.encode($0.key))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    }
}
