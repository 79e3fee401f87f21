extension S3Client {
    /// Where a page begins.
    package enum ListPosition: Sendable, Equatable {
        case start
        /// Behind a key, whether it is still there or not.
        case after(key: String)
        case continuation(String)
    }

    /// Lists objects whose keys begin with a prefix, a page of at most 1,000 at a time (ListObjectsV2).
    package func list(
        prefix: String, from position: ListPosition, deadline: ContinuousClock.Instant
    ) async throws(Fault) -> ObjectPage {
        var query = "encoding-type=url&list-type=2&max-keys=1000&prefix=\(PercentEncoding.encode(prefix))"
        switch position {
        case .start: break
        case .after(let key): query += "&start-after=\(PercentEncoding.encode(key))"
        case .continuation(let token): query = "continuation-token=\(PercentEncoding.encode(token))&" + query
        }
        let path = upstream.endpoint.path.isEmpty ? "/" : upstream.endpoint.path
        var message = SigV4.Message(
            method: "GET", path: path, query: query, fields: ["host": upstream.endpoint.host],
            payloadHash: SigV4.emptyPayloadHash)
        if let owner = settings.expectedBucketOwner { message.fields.add("x-amz-expected-bucket-owner", owner) }
        var effort = Effort()
        return try await upstream.call(.listObjects, message, deadline: deadline, effort: &effort) {
            response throws(Fault) in try ObjectPage(response, prefix: prefix)
        }
    }
}
