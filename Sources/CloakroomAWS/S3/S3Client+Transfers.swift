import CloakroomCrypto
package import CloakroomHTTP

/// Objects whose bytes the caller sends and takes.
extension S3Client {
    /// Stores an object with a single PUT.
    ///
    /// - Parameters:
    ///   - digest: of the body that ``Transfer/send`` will send.
    ///   - fields: what S3 is to keep with it, such as `content-type` or `x-amz-meta-…`.
    /// - Returns: what S3 says of it, without its size.
    /// - Throws: ``AWSError``: status 412, or 409 when there is a concurrent write, if the condition does not hold;
    ///   code `BadDigest` or `ChecksumMismatch` when S3 got other bytes.
    package func put(
        _ object: ObjectAddress, digest: BodyDigest, fields: HeaderFields, condition: PutCondition = .none,
        by transfer: Transfer
    ) async throws(AWSError) -> StoredObject {
        var message = message("PUT", object)
        message.payloadHash = digest.payloadHash
        message.fields.add(digest.fields)
        message.fields.add(fields)
        message.fields.add(condition.fields)
        var counts = AttemptCounts()
        do {
            return try await upstream.transfer(transfer, counts: &counts, message: { message }) {
                response throws(AWSError) in try Self.stored(response, digest)
            }
        } catch {
            // An earlier attempt may have stored it, and its response was lost.
            guard error.status == 412, condition != .none, counts.attempts > 1,
                let found = try await head(object, deadline: transfer.deadline), found.md5 == digest.md5.hexadecimal
            else { throw error }
            return found
        }
    }

    /// - Parameter number: from 1.
    /// - Returns: the part's entity tag.
    /// - Throws: ``AWSError``: code `NoSuchUpload` for one that was completed or given up.
    package func uploadPart(
        _ number: Int, of uploadID: String, _ object: ObjectAddress, digest: BodyDigest, by transfer: Transfer
    ) async throws(AWSError) -> String {
        var message = message("PUT", object)
        message.query = "partNumber=\(number)&uploadId=\(PercentEncoding.encode(uploadID))"
        message.payloadHash = digest.payloadHash
        message.fields.add(digest.fields)
        var counts = AttemptCounts()
        return try await upstream.transfer(transfer, counts: &counts, message: { message }) {
            response throws(AWSError) in try Self.stored(response, digest).entityTag
        }
    }

    /// Reads an object, or a part of one.
    ///
    /// - Parameters:
    ///   - range: called for each attempt, so that one may go on where the last one broke off; `nil` for all of it.
    ///   - entityTag: of the object that it must still be.
    /// - Returns: `nil` when S3 says `NoSuchKey`.
    /// - Throws: ``AWSError``: status 403 when we may not know, 412 when it is another object now, 416 when it has no such
    ///   bytes; code `UnexpectedRange` for other bytes than were requested.
    package func get(
        _ object: ObjectAddress, range: () -> ObjectRange?, entityTag: String? = nil, by transfer: Transfer
    ) async throws(AWSError) -> StoredRange? {
        var asked: ObjectRange?
        var counts = AttemptCounts()
        return try await upstream.transfer(
            transfer, counts: &counts,
            message: {
                asked = range()
                var message = message("GET", object)
                if let asked { message.fields.add("range", asked.field) }
                if let entityTag { message.fields.add("if-match", entityTag) }
                return message
            }
        ) { response throws(AWSError) in
            if response.status == 200 || response.status == 206, let stored = StoredObject(response) {
                guard let found = StoredRange(stored, response, asked: asked) else {
                    throw AWSError(.refused, status: response.status, code: "UnexpectedRange")
                }
                return found
            }
            let error = AWSErrorResponse(response.body)
            guard response.status == 404, error?.code == "NoSuchKey" else { throw AWSError(response, error: error) }
            return nil
        }
    }

    private static func stored(_ response: UpstreamResponse, _ digest: BodyDigest) throws(AWSError) -> StoredObject {
        let error = AWSErrorResponse(response.body)
        guard response.status == 200, error == nil, let stored = StoredObject(response) else {
            let fault = AWSError(response, error: error)
            // The next attempt may get through whole.
            throw fault.code == "BadDigest" ? fault.with(.transient) : fault
        }
        if let md5 = stored.md5, md5 != digest.md5.hexadecimal {
            throw AWSError(.transient, status: response.status, code: "ChecksumMismatch")
        }
        return stored
    }
}

/// A request that tells what credentials are allowed, and that changes nothing even if they are.
package enum S3Probe: Sendable, Equatable {
    /// GET of the service, for a client whose endpoint has no bucket: see ``Endpoint/withoutBucket(_:)``.
    case listBuckets
    /// PUT of a bucket policy that no store can take: not JSON.
    case putPolicy
    /// DELETE of an object that is not there, on the condition that it is: where the bucket keeps versions, no delete marker
    /// is left. It takes `s3:DeleteObject` alone; with an entity tag as the condition it would take `s3:GetObject` as well
    /// (S3 User Guide, "How to perform conditional deletes").
    case delete(ObjectAddress)
    /// PUT of a tag on an object that is not there.
    case tag(ObjectAddress)
    /// GET of an object that is not there.
    case read(ObjectAddress)
    /// PUT of a part, without a byte, of an upload that is not there: so nothing is stored even if it is allowed.
    case uploadPart(ObjectAddress)
    /// GET of the parts of an upload that is not there.
    case listParts(ObjectAddress)
    /// DELETE of an upload that is not there.
    case abortUpload(ObjectAddress)
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
            message, body: body, deadline: deadline, counts: &counts
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
            message.fields.add("if-match", "*")
            return (message, [])
        case .tag(let object): return taggingRequest([ReleaseTag.key: ReleaseTag.value], for: object)
        case .read(let object): return (message("GET", object), [])
        case .uploadPart(let object): return (missingUpload("PUT", object, "partNumber=1&"), [])
        case .listParts(let object): return (missingUpload("GET", object), [])
        case .abortUpload(let object): return (missingUpload("DELETE", object), [])
        case .objectLock: return (bucketMessage("GET", "object-lock"), [])
        }
    }

    private func missingUpload(_ method: String, _ object: ObjectAddress, _ query: String = "") -> SigV4.Message {
        var message = message(method, object)
        message.query = "\(query)uploadId=cloakroom-doctor-missing"
        return message
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
