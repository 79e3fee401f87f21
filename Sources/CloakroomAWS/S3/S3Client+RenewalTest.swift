import CloakroomHTTP

/// What the renewal of an object of the worker's own has shown.
package enum RenewalTest: Sendable, Equatable {
    /// The worker may renew. The key of KMS that both the object and its copy are encrypted with; `nil` for none, and
    /// where the two differ.
    case renewed(kmsKey: String?)
    case failed(AWSError)
}

/// Whether the worker may renew at all: tested when S3 refuses a key.
extension S3Client {
    /// Behind a prefix, the object of the worker's own that is renewed.
    package static let testObjectName = "cloakroom-renewal-test"
    /// Behind a prefix, an object that is never there.
    package static let missingObjectName = "cloakroom-readiness-probe"

    /// Renews an object of the worker's own, whatever its age, and looks for one that is not there: S3 calls that missing
    /// only to those with `s3:ListBucket`. The object is stored where there is none yet, with a tag, because copies of
    /// objects with tags need permissions of their own.
    package func testRenewal(under prefix: String, deadline: ContinuousClock.Instant) async -> RenewalTest {
        guard let object = ObjectAddress(key: prefix + Self.testObjectName),
            let missing = ObjectAddress(key: prefix + Self.missingObjectName)
        else { return .failed(AWSError(.refused, code: "InvalidKey")) }
        do throws(AWSError) {
            _ = try await exists(missing, deadline: deadline)
            var source = try await kmsKey(of: object, deadline: deadline)
            if try await !copyTestObject(object, deadline: deadline) {
                try await storeTestObject(object, deadline: deadline)
                source = try await kmsKey(of: object, deadline: deadline)
                guard try await copyTestObject(object, deadline: deadline) else {
                    throw AWSError(.refused, code: "NoSuchKey")
                }
            }
            let copy = try await kmsKey(of: object, deadline: deadline)
            return .renewed(kmsKey: source == copy ? copy : nil)
        } catch {
            return .failed(error)
        }
    }

    /// The key of KMS that an object is encrypted with. HEAD tells it without a right to use the key.
    ///
    /// - Returns: `nil` for none, and where S3 tells nothing: of what is not there, or not ours to see.
    /// - Throws: ``AWSError`` where S3 may tell it later.
    ///
    /// Source: S3 API Reference, HeadObject, "Permissions": only checksums take `kms:Decrypt`.
    package func kmsKey(of key: String, deadline: ContinuousClock.Instant) async throws(AWSError) -> String? {
        guard let object = ObjectAddress(key: key) else { return nil }
        return try await kmsKey(of: object, deadline: deadline)
    }

    private func kmsKey(
        of object: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> String? {
        var counts = AttemptCounts()
        return switch try await headOrRefusal(object, deadline: deadline, counts: &counts) {
        case .success(let stored): stored.kmsKey
        case .failure: nil
        }
    }

    /// - Returns: whether there is such an object; it has been renewed then.
    private func copyTestObject(
        _ object: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> Bool {
        var counts = AttemptCounts()
        var directive = selfCopySupport.directive(in: settings.mode, now: runtime.now)
        while true {
            var request = request(directive)
            request.storageClass = testStorageClass
            if let encryption = settings.encryption { request.attributes = encryption.fields }
            if directive == .replace { request.metadata = ["content-type": Self.testType] }
            switch try await copy(request, object, deadline: deadline, counts: &counts) {
            case .copied: return true
            case .notFound: return false
            case .selfCopyRefused where settings.mode == .auto && directive == .copy:
                selfCopySupport.wasRefused(at: runtime.now())
                directive = .replace
            case .archived, .invalidKey, .unrenewableObject, .unsuitable, .selfCopyRefused, .modifiedSince,
                .preconditionFailed:
                throw AWSError(.refused, code: "TestRefused")
            }
        }
    }

    private func storeTestObject(_ object: ObjectAddress, deadline: ContinuousClock.Instant) async throws(AWSError) {
        var fields = settings.encryption?.fields ?? [:]
        fields.add("x-amz-storage-class", testStorageClass)
        if let acl = settings.acl { fields.add("x-amz-acl", acl) }
        var tagged = fields
        tagged.add("x-amz-tagging", "cloakroom=test")
        let body = Array("cloakroom renewal test".utf8)
        do {
            try await put(object, body: body, contentType: Self.testType, fields: tagged, deadline: deadline)
        } catch {
            // A store without tags.
            guard error.status == 501 else { throw error }
            try await put(object, body: body, contentType: Self.testType, fields: fields, deadline: deadline)
        }
    }

    private static let testType = "text/plain"

    private var testStorageClass: String {
        switch settings.storageClass {
        case .preserved: "STANDARD"
        case .named(let name): name
        }
    }
}
