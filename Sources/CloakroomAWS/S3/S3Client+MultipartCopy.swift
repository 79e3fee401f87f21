import CloakroomHTTP

extension S3Client {
    /// For giving up an upload, after the deadline of what it was for.
    private static let abortTimeout: Duration = .seconds(10)

    /// Goes on with the copy of an object beside the request that started it.
    ///
    /// - Returns: what is told of it meanwhile.
    func continueInBackground(with stored: StoredObject, _ object: ObjectAddress) -> Renewal.Outcome {
        backgroundCopies.begin(object) { runtime.spawn { await self.copyLarge(stored, object) } }
    }

    /// Renews an object, and waits for its copy where that goes on beside the request, beyond the deadline too.
    package func renewWaiting(key: String, deadline: ContinuousClock.Instant) async -> Renewal {
        while true {
            let renewal = await renew(key: key, deadline: deadline)
            guard let object = ObjectAddress(key: key),
                let copy = backgroundCopies.task(before: object, after: renewal.outcome)
            else { return renewal }
            await copy.value
        }
    }

    /// Gives up all copies that go on beside requests, and begins no more; returns when their uploads are given up.
    package func cancelBackgroundCopies() async {
        for task in backgroundCopies.close() { await task.value }
        for task in backgroundCopies.allAbortions { await task.value }
    }

    private func copyLarge(_ stored: StoredObject, _ object: ObjectAddress) async {
        var counts = AttemptCounts()
        let outcome: Renewal.Outcome
        do {
            outcome = try await copiedLarge(
                stored, object, deadline: runtime.now() + BackgroundCopies.limit, counts: &counts)
        } catch {
            outcome = Renewal.Outcome(error)
        }
        backgroundCopies.end(object, outcome, now: runtime.now())
    }

    private func copiedLarge(
        _ stored: StoredObject, _ object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> Renewal.Outcome {
        if let outcome = try await copyMultipart(stored, object, deadline: deadline, counts: &counts) { return outcome }
        // Once more, because the object was written meanwhile.
        switch try await headResult(at: object, deadline: deadline, counts: &counts) {
        case .outcome(let outcome): return outcome
        case .contradiction(let refusal): throw refusal
        case .found(let stored):
            if let outcome = outcomeWithoutCopy(stored) { return outcome }
            if stored.isLarge,
                let outcome = try await copyMultipart(stored, object, deadline: deadline, counts: &counts)
            {
                return outcome
            }
            throw AWSError(.transient, status: 412, code: "ChangedMeanwhile")
        }
    }

    /// Copies an object onto itself with a multipart copy.
    ///
    /// Tags are read and sent again, and looked for in the end: some stores (Ceph) drop those of a multipart upload. The upload is
    /// given up when a part fails.
    /// - Returns: `nil` when it is no longer the object that was looked at.
    private func copyMultipart(
        _ stored: StoredObject, _ object: ObjectAddress, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> Renewal.Outcome? {
        guard let attributes = stored.attributes, let metadata = stored.metadata, let byteCount = stored.byteCount
        else {
            return .unrenewableObject(code: "UnreadableMetadata")
        }
        var fields = metadata
        fields.add(attributes)
        fields.add("x-amz-storage-class", storageClass(of: stored))
        if let acl = settings.acl { fields.add("x-amz-acl", acl) }
        let tags = try await tagsToKeep(of: object, deadline: deadline, counts: &counts)
        if !tags.isEmpty { fields.add("x-amz-tagging", Self.taggingField(tags)) }
        let upload = try await beginUpload(object, fields, deadline: deadline, counts: &counts)
        let parts: [UploadedPart]?
        do {
            parts = try await copyParts(
                MultipartCopy.ranges(byteCount: byteCount), of: stored, object, upload, deadline: deadline,
                counts: &counts)
        } catch {
            startAbort(upload, of: object)
            throw error
        }
        guard let parts else {
            startAbort(upload, of: object)
            return nil
        }
        let attempts = counts.attempts
        let outcome: Renewal.Outcome?
        do {
            outcome = try await complete(upload, parts, of: stored, object, deadline: deadline, counts: &counts)
        } catch {
            await restoreTags(tags, on: object, after: error, since: attempts, isSingle: false, deadline, &counts)
            throw error
        }
        guard !tags.isEmpty else { return outcome }
        if case .renewed = outcome {
            _ = try await restoreTags(tags, on: object, isSingle: false, deadline, &counts)
        } else if outcome == nil, counts.attempts > attempts + 1 {
            // An earlier attempt may have made the object, and its response was lost.
            try await restoreTags(tags, on: object, madeOf: parts, deadline, &counts)
        }
        return outcome
    }

    /// - Returns: `nil` when it is no longer the object that was looked at.
    private func copyParts(
        _ ranges: [ClosedRange<Int>], of stored: StoredObject, _ object: ObjectAddress, _ upload: String,
        deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> [UploadedPart]? {
        let (parts, spent) = await withTaskGroup(of: CopiedPart.self) { group in
            var parts: [CopiedPart] = []
            var next = 0
            func startNext() {
                guard next < ranges.count, !group.isCancelled else { return }
                let index = next
                next += 1
                group.addTask {
                    await self.copyPart(index + 1, ranges[index], of: stored, object, upload, deadline: deadline)
                }
            }
            for _ in 0..<MultipartCopy.concurrentParts { startNext() }
            var spent = AttemptCounts()
            for await part in group {
                parts.append(part)
                spent += part.counts
                // One that failed makes all the others useless.
                if case .success(.some) = part.result { startNext() } else { group.cancelAll() }
            }
            return (parts, spent)
        }
        counts += spent
        // What was cancelled failed because of another.
        let failures = parts.compactMap { part in if case .failure(let fault) = part.result { fault } else { nil } }
        if parts.contains(where: { if case .success(nil) = $0.result { true } else { false } }) { return nil }
        if let fault = failures.first(where: { $0.kind != .cancelled }) ?? failures.first { throw fault }
        var copied: [UploadedPart] = []
        for part in parts { if let part = try part.result.get() { copied.append(part) } }
        return copied.sorted { $0.number < $1.number }
    }

    /// An upload of which S3 may yet make the object, or has made it with the response lost, is not aborted: a store
    /// could remove the parts that the object is made of. The bucket's rule about incomplete uploads removes what is left.
    ///
    /// - Returns: `nil` when it is no longer the object that was looked at.
    private func complete(
        _ upload: String, _ parts: [UploadedPart], of stored: StoredObject, _ object: ObjectAddress,
        deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> Renewal.Outcome? {
        // A concurrent write is not overwritten.
        var condition = PutCondition.ifMatch(entityTag: stored.entityTag)
        while true {
            if !isSupportedOnCompletion(condition) {
                guard try await head(object, deadline: deadline, counts: &counts)?.entityTag == stored.entityTag else {
                    startAbort(upload, of: object)
                    return nil
                }
                condition = .none
            }
            var spent = AttemptCounts()
            defer { counts += spent }
            let response: CompletionResponse
            do {
                response = try await completeUpload(
                    object, upload, parts, condition, timeout: BackgroundCopies.timeout, deadline: deadline,
                    counts: &spent)
            } catch {
                if spent.attempts == 1, error.kind == .refused { startAbort(upload, of: object) }
                throw error
            }
            switch response {
            case .completed(let expiration): return .renewed(expiration: expiration)
            case .noSuchUpload: return nil
            case .conditionRefused: unsupportedOnCompletion.insert(condition.fieldName)
            case .conditionFailed:
                if spent.attempts == 1 { startAbort(upload, of: object) }
                return nil
            case .partsRefused(let code):
                if spent.attempts == 1 { startAbort(upload, of: object) }
                throw AWSError(.refused, status: 400, code: code)
            }
        }
    }

    private struct CopiedPart: Sendable {
        /// `nil` when the object is no longer the same.
        let result: Result<UploadedPart?, AWSError>
        let counts: AttemptCounts
    }

    /// - Parameter number: from 1.
    private func copyPart(
        _ number: Int, _ range: ClosedRange<Int>, of stored: StoredObject, _ object: ObjectAddress, _ upload: String,
        deadline: ContinuousClock.Instant
    ) async -> CopiedPart {
        var message = message("PUT", object)
        message.query = "partNumber=\(number)&uploadId=\(PercentEncoding.encode(upload))"
        message.fields.add("x-amz-copy-source", object.copySource(in: bucket))
        message.fields.add("x-amz-copy-source-if-match", stored.entityTag)
        message.fields.add("x-amz-copy-source-range", "bytes=\(range.lowerBound)-\(range.upperBound)")
        if let owner = settings.expectedBucketOwner {
            message.fields.add("x-amz-source-expected-bucket-owner", owner)
        }
        var counts = AttemptCounts()
        do throws(AWSError) {
            let tag = try await upstream.call(
                message, deadline: deadline, timeout: BackgroundCopies.timeout, counts: &counts
            ) { response throws(AWSError) in try MultipartCopy.copied(response)
            }
            let part = tag.map { UploadedPart(number: number, entityTag: $0, byteCount: range.count) }
            return CopiedPart(result: .success(part), counts: counts)
        } catch {
            return CopiedPart(result: .failure(error), counts: counts)
        }
    }

    /// Runs in the background. What it leaves behind, the bucket's rule about incomplete uploads removes.
    private func startAbort(_ upload: String, of object: ObjectAddress) {
        let deadline = runtime.now() + Self.abortTimeout
        backgroundCopies.beginAbortion { number in
            runtime.spawn { await self.abort(upload, of: object, number, deadline: deadline) }
        }
    }

    private func abort(
        _ upload: String, of object: ObjectAddress, _ number: Int, deadline: ContinuousClock.Instant
    ) async {
        _ = try? await abortMultipartUpload(object, uploadID: upload, deadline: deadline)
        backgroundCopies.endAbortion(number)
    }
}
