/// A request that tells what credentials are allowed, and that changes nothing even if they are.
package enum S3Probe: Sendable, Equatable {
    /// GET of the service, for a client whose endpoint has no bucket: see ``Endpoint/withoutBucket(_:)``.
    case listBuckets
    /// PUT of a bucket policy that no store can take: not JSON.
    case putPolicy
    /// DELETE of an object under a condition that no object meets.
    case delete(ObjectAddress)
    case objectLock
}

extension S3Client {
    /// - Returns: for ``S3Probe/listBuckets`` their names, else nothing.
    /// - Throws: ``AWSError``: status 403 is a refusal; any other says that the request was authorized.
    @discardableResult
    package func send(_ probe: S3Probe, deadline: ContinuousClock.Instant) async throws(AWSError) -> [String] {
        var counts = AttemptCounts()
        let (message, body) = request(probe)
        return try await upstream.call(
            .probe, message, body: body, deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            let root = try? XMLReader.read(response.body)
            let error = root.flatMap { AWSErrorResponse($0) }
            guard (200..<300).contains(response.status), error == nil else { throw AWSError(response, error: error) }
            return root?["Buckets"]?.children.compactMap { $0.text(of: "Name") } ?? []
        }
    }

    private func request(_ probe: S3Probe) -> (message: SigV4.Message, body: [UInt8]) {
        switch probe {
        case .listBuckets: return (bucketMessage("GET"), [])
        case .putPolicy:
            let body = Array("no policy".utf8)
            return (bucketMessage("PUT", "policy", fields: Checksum.fields(of: body), body: body), body)
        case .delete(let object):
            var message = message("DELETE", object)
            message.fields.add("if-match", "\"00000000000000000000000000000000\"")
            return (message, [])
        case .objectLock: return (bucketMessage("GET", "object-lock"), [])
        }
    }
}

extension Endpoint {
    /// Of the service, where this is of one bucket in it.
    package func withoutBucket(_ bucket: String) -> Endpoint {
        let (inHost, inPath) = ("\(bucket).", "/\(PercentEncoding.encode(bucket))")
        return Endpoint(
            scheme: scheme, host: host.hasPrefix(inHost) ? String(host.dropFirst(inHost.count)) : host,
            path: path.hasSuffix(inPath) ? String(path.dropLast(inPath.count)) : path, signingRegion: signingRegion)
    }
}
