/// Everything the server knows, and one request after the other.
struct S3State {
    var options: ScriptedS3.Options
    var identities: [ScriptedIdentity]
    var buckets: [String: Bucket] = [:]
    var faults = FaultScript()
    var log: [ScriptedS3.Received] = []
    var counts: [S3Operation: Int] = [:]
    let keys = SigningKeys()
    private var numbers: UInt64 = 0

    init(_ options: ScriptedS3.Options) {
        self.options = options
        identities = [options.identity]
        buckets[options.bucket] = Bucket(region: options.region)
    }

    /// Different every time, the same at every run.
    mutating func number() -> UInt64 {
        numbers += 1
        return numbers
    }

    mutating func answer(_ request: S3Request, now: Double) -> S3Reply {
        let requestID = "SCRIPTED" + String(number() &+ 0x1000_0000, radix: 16, uppercase: true)
        let operation = S3Operation(request)
        var fault: S3Fault?
        var reply: S3Reply
        do throws(S3Error) {
            guard let operation else {
                throw request.bucket.isEmpty
                    ? .accessDenied
                    : S3Error(501, "NotImplemented", "This server does not know \(request.method) \(request.target)")
            }
            counts[operation, default: 0] += 1
            let who = operation == .postObject ? nil : try authenticate(request, now: now)
            fault = faults.pick(operation, request.key ?? "")
            if let fault, !fault.happensAfterwards {
                reply = fault.reply(to: request, operation, requestID: requestID, region: options.region, now: now)
            } else {
                reply = try perform(operation, request, who, now: now)
            }
        } catch {
            reply = error.reply(requestID: requestID)
        }
        if let fault, fault.happensAfterwards { fault.spoil(&reply) }
        reply.add("x-amz-request-id", requestID)
        reply.add("x-amz-id-2", "scripted")
        reply.add("Date", S3Timestamp(now).http)
        reply.add("Server", "AmazonS3")
        if request.method == "HEAD" { hideBody(&reply) }
        if options.keepsRequests {
            log.append(.init(request, operation: operation, fault: fault, status: reply.status))
        }
        return reply
    }

    /// HEAD says what GET would, without a body: so no code either.
    private func hideBody(_ reply: inout S3Reply) {
        reply.hidesBody = true
        reply.padding = 0
        if reply.status >= 300 { reply.body = [] }
    }

    private func authenticate(_ request: S3Request, now: Double) throws(S3Error) -> ScriptedIdentity {
        let region = buckets[request.bucket]?.region ?? options.region
        return try SignatureCheck(identities: identities, now: now, keys: keys).check(request, region: region)
    }

    private mutating func perform(
        _ operation: S3Operation, _ request: S3Request, _ who: ScriptedIdentity?, now: Double
    ) throws(S3Error) -> S3Reply {
        guard !request.hasUnreadableKey else {
            throw S3Error(400, "InvalidURI", "Couldn't parse the specified URI.")
        }
        if let key = request.key, key.utf8.count > 1024 {
            throw S3Error(
                400, "KeyTooLongError", "Your key is too long",
                details: [("Size", String(key.utf8.count)), ("MaxSizeAllowed", "1024")])
        }
        if operation == .createBucket { return try createBucket(request) }
        guard buckets[request.bucket] != nil else { throw .noSuchBucket(request.bucket) }
        for name in ["x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"] {
            if let owner = request.field(name), owner != options.account { throw .accessDenied }
        }
        if operation == .postObject { return try postForm(request, now: now) }
        guard let who else { throw .accessDenied }
        if let key = request.key { expire(request.bucket, key, now: now) }
        var call = Call(request: request, key: request.key ?? "", who: who, now: now)
        return try perform(operation, &call)
    }

    /// One authenticated request on its way through an operation.
    struct Call {
        let request: S3Request
        let key: String
        let who: ScriptedIdentity
        let now: Double
    }

    private mutating func perform(_ operation: S3Operation, _ call: inout Call) throws(S3Error) -> S3Reply {
        switch operation {
        case .putObject: try putObject(call)
        case .getObject: try getObject(call)
        case .headObject: try headObject(call)
        case .deleteObject: try deleteObject(call)
        case .copyObject: try copyObject(call)
        case .getObjectTagging: try getTagging(call)
        case .putObjectTagging: try putTagging(call)
        case .createMultipartUpload: try createUpload(call)
        case .uploadPart: try uploadPart(call)
        case .uploadPartCopy: try uploadPartCopy(call)
        case .completeMultipartUpload: try completeUpload(call)
        case .abortMultipartUpload: try abortUpload(call)
        case .listParts: try listParts(call)
        case .listMultipartUploads: try listUploads(call)
        case .listObjects: try listObjects(call)
        case .listObjectVersions: try listVersions(call)
        case .deleteBucket, .headBucket, .getBucketLocation, .getBucketLifecycle, .putBucketLifecycle,
            .deleteBucketLifecycle, .getBucketVersioning, .putBucketVersioning, .getBucketEncryption,
            .putBucketEncryption, .getObjectLock:
            try onBucket(operation, call)
        case .createBucket, .postObject: throw .accessDenied
        }
    }

    // MARK: For the operations

    subscript(bucket name: String) -> Bucket {
        get { buckets[name] ?? Bucket(region: options.region) }
        _modify { yield &buckets[name, default: Bucket(region: options.region)] }
    }

    static func versionID(_ number: UInt64) -> String { "version." + String(number, radix: 36) }

    mutating func expire(_ bucket: String, _ key: String, now: Double) {
        guard self[bucket: bucket].lifecycle != nil else { return }
        let number = number()
        self[bucket: bucket].expire(key, now: now, day: options.dayLength) { Self.versionID(number) }
    }

    mutating func expireAll(now: Double) {
        let first = number()
        numbers += 1_000_000
        for name in buckets.keys {
            var next = first
            buckets[name]?.expireAll(now: now, day: options.dayLength) {
                next += 1
                return "version." + String(next, radix: 36)
            }
        }
    }

    mutating func write(_ version: StoredVersion, _ key: String, into bucket: String) -> String? {
        let id = Self.versionID(number())
        return self[bucket: bucket].write(version, key) { id }
    }

    /// `expiry-date="…", rule-id="…"`, where a rule ends this object.
    func expirationField(_ key: String, _ version: StoredVersion, in bucket: String) -> String? {
        self[bucket: bucket].lifecycle?.expiration(of: key, version, day: options.dayLength)
            .map { "expiry-date=\"\(S3Timestamp($0.at).http)\", rule-id=\"\($0.rule)\"" }
    }
}
