/// What tests put in, ask for and script.
extension ScriptedS3 {
    /// An object as a test puts it there, without asking anyone.
    package struct Seed: Sendable {
        package var bytes: [UInt8] = Array("bytes".utf8)
        /// Instead of the bytes' own, for objects too large to keep.
        package var pretendedSize: Int?
        /// Seconds before now.
        package var age: Double = 10 * 86_400
        package var contentType = "application/octet-stream"
        /// Further system metadata, such as `cache-control`.
        package var system: [String: String] = [:]
        package var metadata: [String: String] = [:]
        package var tags: [String: String] = [:]
        package var storageClass = "STANDARD"
        /// The key of KMS, where it is encrypted so.
        package var kmsKey: String?
        /// Where it is encrypted with its owner's key: that key's MD5 in base64.
        package var customerKeyMD5: String?
        package var websiteRedirect: String?
        package var acl = "private"
        package var lockMode: String?

        package init() {}
    }

    /// What is true of a key, whatever was said about it.
    package struct Truth: Sendable, Equatable {
        /// Whether it can be read now.
        package let exists: Bool
        /// How often it was really copied onto itself.
        package let selfCopies: Int
        /// Seconds since 1970.
        package let lastModified: Double
        package let entityTag: String
        package let size: Int
        package let storageClass: String
        /// System metadata, user metadata with their prefix, and what else a copy might lose, by field name.
        package let fields: [String: String]
        package let tags: [String: String]
        /// Delete markers included.
        package let versions: Int
    }

    /// A request that was answered.
    package struct Received: Sendable, Equatable {
        package let method: String
        package let target: String
        package let key: String?
        /// `nil` for what the server does not know.
        package let operation: S3Operation?
        package let fault: S3Fault?
        package let status: Int
        /// Names in lower case.
        package let fields: [String: String]
        package let body: [UInt8]

        init(_ request: S3Request, operation: S3Operation?, fault: S3Fault?, status: Int) {
            method = request.method
            target = request.target
            key = request.key
            self.operation = operation
            self.fault = fault
            self.status = status
            fields = Dictionary(request.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { "\($0),\($1)" })
            body = request.body
        }
    }

    // MARK: Objects

    package func put(_ key: String, _ seed: Seed = Seed(), bucket: String? = nil) {
        let now = clock()
        state.withLock { state in
            let bucket = bucket ?? state.options.bucket
            var version = StoredVersion(lastModified: now - seed.age)
            version.bytes = seed.bytes
            version.pretendedSize = seed.pretendedSize
            version.systemMetadata = ([("content-type", seed.contentType)] + seed.system.sorted { $0.key < $1.key })
                .map { .init(name: $0.0, value: $0.1) }
            version.userMetadata = seed.metadata.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
            version.tags = seed.tags.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
            version.storageClass = seed.storageClass
            if let key = seed.kmsKey { version.encryption = .kms(key: key, usesBucketKey: true) }
            if let md5 = seed.customerKeyMD5 { version.encryption = .customer(keyMD5: md5) }
            version.websiteRedirect = seed.websiteRedirect
            version.acl = seed.acl
            if let mode = seed.lockMode { version.lock = .init(mode: mode, until: S3Timestamp(now + 86_400).iso) }
            version.seal(distinguishing: state.number())
            _ = state.write(version, key, into: bucket)
        }
    }

    package func remove(_ key: String, bucket: String? = nil) {
        let now = clock()
        state.withLock { state in
            let id = S3State.versionID(state.number())
            state[bucket: bucket ?? state.options.bucket].delete(key, version: nil, now: now) { id }
        }
    }

    package func truth(_ key: String, bucket: String? = nil) -> Truth {
        let now = clock()
        return state.withLock { state in
            let bucket = bucket ?? state.options.bucket
            state.expire(bucket, key, now: now)
            let versions = state[bucket: bucket].versions[key] ?? []
            let current = state[bucket: bucket].current(key)
            return Truth(current, versions: versions.count)
        }
    }

    /// The same as ``Truth/exists``, without the rest.
    package func exists(_ key: String) -> Bool {
        let now = clock()
        return state.withLock { state in
            state.expire(state.options.bucket, key, now: now)
            return state.buckets[state.options.bucket]?.current(key) != nil
        }
    }

    /// Keys that can be read now, in the order of their bytes.
    package func keys(bucket: String? = nil) -> [String] {
        let now = clock()
        return state.withLock { state in
            state.expireAll(now: now)
            let name = bucket ?? state.options.bucket
            let bucket = state[bucket: name]
            return state[bucket: name].keys().filter { bucket.current($0) != nil }
        }
    }

    // MARK: State

    /// The caller changes what it wants; the rest stays.
    package func identities(_ body: (inout [ScriptedIdentity]) -> Void) { state.withLock { body(&$0.identities) } }

    /// Whether copies onto themselves need REPLACE, as at MinIO, Ceph RGW and SeaweedFS.
    package func refusesSelfCopy(_ refuses: Bool) {
        state.withLock { $0[bucket: $0.options.bucket].refusesSelfCopy = refuses }
    }

    /// As after PutBucketEncryption; `nil` takes that back.
    package func encryptsByDefault(kmsKey: String?) {
        state.withLock { state in
            state[bucket: state.options.bucket].encryption = kmsKey.map { .kms(key: $0, usesBucketKey: true) }
        }
    }

    /// An XML document as PutBucketLifecycleConfiguration takes it.
    ///
    /// - Returns: whether it was taken.
    @discardableResult
    package func lifecycle(_ document: String) -> Bool {
        guard let lifecycle = try? Lifecycle(Array(document.utf8)) else { return false }
        state.withLock { $0[bucket: $0.options.bucket].lifecycle = lifecycle }
        return true
    }

    /// Takes the bucket away, with all that is in it.
    package func removeBucket() { state.withLock { $0.buckets[$0.options.bucket] = nil } }

    // MARK: Faults and what was asked

    package func script(_ rules: FaultRule...) { state.withLock { $0.faults.rules += rules } }

    package func mix(_ mix: FaultMix?) { state.withLock { $0.faults.mix = mix } }

    /// No rule and no mix any more.
    package func clearFaults() { state.withLock { $0.faults = FaultScript() } }

    /// How often each fault was injected since ``clearFaults()``.
    package var injectedFaults: [S3Fault: Int] { state.withLock { $0.faults.injectedFaults } }

    package var requests: [Received] { state.withLock { $0.log } }

    package func forgetRequests() {
        state.withLock { state in
            state.log = []
            state.counts = [:]
        }
    }

    /// Since the start or ``forgetRequests()``.
    package func count(_ operation: S3Operation) -> Int { state.withLock { $0.counts[operation] ?? 0 } }
}

extension ScriptedS3.Truth {
    init(_ version: StoredVersion?, versions: Int) {
        exists = version != nil
        selfCopies = version?.selfCopies ?? 0
        lastModified = version?.lastModified ?? 0
        entityTag = version?.entityTag ?? ""
        size = version?.size ?? 0
        storageClass = version?.storageClass ?? ""
        self.versions = versions
        tags = Dictionary((version?.tags ?? []).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        var fields: [String: String] = [:]
        for field in version?.systemMetadata ?? [] { fields[field.name] = field.value }
        for field in version?.userMetadata ?? [] { fields["x-amz-meta-\(field.name)"] = field.value }
        fields["x-amz-acl"] = version?.acl
        fields["x-amz-website-redirect-location"] = version?.websiteRedirect
        fields["x-amz-object-lock-mode"] = version?.lock?.mode
        switch version?.encryption {
        case .kms(let key, _)?: fields["x-amz-server-side-encryption-aws-kms-key-id"] = key
        case .customer(let md5)?: fields["x-amz-server-side-encryption-customer-key-md5"] = md5
        case .s3?, nil: break
        }
        self.fields = fields
    }
}
