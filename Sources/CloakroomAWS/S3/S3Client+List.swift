extension S3Client {
    /// Where a page begins.
    package enum ListPosition: Sendable, Equatable {
        case start
        /// Behind a key, whether it is still there or not.
        case after(key: String)
        case continuation(String)
    }

    /// Lists objects whose keys begin with a prefix, a page of at most 1,000 at a time (ListObjectsV2).
    ///
    /// - Parameter delimiter: keys with it behind the prefix come as ``ObjectPage/folders`` only.
    package func list(
        prefix: String, delimiter: String? = nil, from position: ListPosition, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> ObjectPage {
        var query = delimiter.map { "delimiter=\(PercentEncoding.encode($0))&" } ?? ""
        query += "encoding-type=url&list-type=2&max-keys=1000&prefix=\(PercentEncoding.encode(prefix))"
        switch position {
        case .start: break
        case .after(let key): query += "&start-after=\(PercentEncoding.encode(key))"
        case .continuation(let token): query = "continuation-token=\(PercentEncoding.encode(token))&" + query
        }
        return try await bucketCall(.listObjects, "GET", query, deadline) { response throws(AWSError) in
            try ObjectPage(response, prefix: prefix)
        }
    }
}
