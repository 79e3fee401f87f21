import HTTPValues

extension S3Client {
    /// How many parts of one object are copied at once.
    private static let partsAtOnce = 16
    /// For giving up an upload, after the deadline of what it was for.
    private static let patienceForAbortion: Duration = .seconds(10)

    /// Copies an object onto itself that is larger than one CopyObject takes.
    ///
    /// Tags are read and sent again; the upload is given up when anything fails.
    /// - Returns: `nil` when it is no longer the object that was looked at.
    func copyInParts(
        _ stored: StoredObject, _ object: ObjectAddress, deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> Renewal.Outcome? {
        guard let attributes = stored.attributes, let metadata = stored.metadata, let byteCount = stored.byteCount
        else {
            return .unrenewable(code: "UnreadableMetadata")
        }
        var fields = metadata
        fields.add(attributes)
        fields.add("x-amz-storage-class", storageClass(of: stored))
        if let acl = settings.acl { fields.add("x-amz-acl", acl) }
        if let tagging = try await taggingField(object, deadline: deadline, effort: &effort) {
            fields.add("x-amz-tagging", tagging)
        }
        let copy = LargeCopy(
            bucket: bucket, object: object, endpoint: upstream.endpoint,
            expectedBucketOwner: settings.expectedBucketOwner)
        let upload = try await upstream.call(
            .createMultipartUpload, copy.creation(fields), deadline: deadline, effort: &effort
        ) { response throws(Fault) in try LargeCopy.created(response) }
        do {
            if let completion = try await fill(
                copy, upload, LargeCopy.ranges(byteCount: byteCount), stored.entityTag, deadline: deadline,
                effort: &effort)
            {
                return .renewed(expiration: completion.expiration)
            }
        } catch {
            abort(copy, upload)
            throw error
        }
        abort(copy, upload)
        return nil
    }

    /// - Returns: `nil` when it is no longer the object that was looked at.
    private func fill(
        _ copy: LargeCopy, _ upload: String, _ ranges: [ClosedRange<Int>], _ entityTag: String,
        deadline: ContinuousClock.Instant, effort: inout Effort
    ) async throws(Fault) -> LargeCopy.Completion? {
        var tags: [String?] = Array(repeating: nil, count: ranges.count)
        let (parts, spent) = await withTaskGroup(of: (Int, CopiedPart).self) { group in
            var parts: [(Int, CopiedPart)] = []
            var next = 0
            func startNext() {
                guard next < ranges.count, !group.isCancelled else { return }
                let index = next
                next += 1
                group.addTask {
                    let message = copy.part(index + 1, ranges[index], upload: upload, entityTag: entityTag)
                    return (index, await self.copyPart(message, deadline: deadline))
                }
            }
            for _ in 0..<Self.partsAtOnce { startNext() }
            var spent = Effort()
            for await (index, part) in group {
                parts.append((index, part))
                spent.attempts += part.effort.attempts
                spent.throttles += part.effort.throttles
                // One that failed makes all the others useless.
                if case .success(.some) = part.result { startNext() } else { group.cancelAll() }
            }
            return (parts, spent)
        }
        effort.attempts += spent.attempts
        effort.throttles += spent.throttles
        // What was cancelled failed because of another.
        let failures = parts.compactMap { part in if case .failure(let fault) = part.1.result { fault } else { nil } }
        if parts.contains(where: { if case .success(nil) = $0.1.result { true } else { false } }) { return nil }
        if let fault = failures.first(where: { $0.kind != .cancelled }) ?? failures.first { throw fault }
        for (index, part) in parts { tags[index] = try part.result.get() }
        let (message, body) = copy.completion(tags.compactMap(\.self), upload: upload, entityTag: entityTag)
        return try await upstream.call(
            .completeMultipartUpload, message, body: body, deadline: deadline, effort: &effort
        ) { response throws(Fault) in try LargeCopy.completed(response) }
    }

    private struct CopiedPart: Sendable {
        /// The part's entity tag; `nil` when the object is no longer the same.
        let result: Result<String?, Fault>
        let effort: Effort
    }

    private func copyPart(_ message: SigV4.Message, deadline: ContinuousClock.Instant) async -> CopiedPart {
        var effort = Effort()
        do throws(Fault) {
            let tag = try await upstream.call(.uploadPartCopy, message, deadline: deadline, effort: &effort) {
                response throws(Fault) in try LargeCopy.copied(response)
            }
            return CopiedPart(result: .success(tag), effort: effort)
        } catch {
            return CopiedPart(result: .failure(error), effort: effort)
        }
    }

    /// Nobody waits for that; what it leaves behind, the bucket's rule about incomplete uploads removes.
    private func abort(_ copy: LargeCopy, _ upload: String) {
        let deadline = surroundings.now() + Self.patienceForAbortion
        let message = copy.abortion(upload: upload)
        _ = surroundings.spawn { await self.send(message, deadline: deadline) }
    }

    private func send(_ message: SigV4.Message, deadline: ContinuousClock.Instant) async {
        var effort = Effort()
        try? await upstream.call(
            .abortMultipartUpload, message, deadline: deadline, effort: &effort, judge: Self.done)
    }
}
