package import CloakroomAWS

/// What came of a request to the store that it should refuse.
package enum Enforcement: Sendable, Equatable {
    case honoured
    /// It did what it should have refused.
    case ignored
    /// Another response, or none at all.
    case unclear(String)

    /// - Parameters:
    ///   - status: of the response.
    ///   - refusal: the status that says that the request was understood and refused.
    package init(status: Int, refusal: Int) {
        switch status {
        case refusal: self = .honoured
        case 200..<300: self = .ignored
        default: self = .unclear("status \(status)")
        }
    }
}

/// What the store did with requests that S3 would refuse, and whose what the worker writes is.
package struct StoreObservations: Sendable {
    /// `nil` when nothing was written.
    package struct Written: Sendable {
        /// A presigned PUT over an object, with `If-None-Match: *` in its query.
        package var presignedCondition: Enforcement
        /// The same in a header.
        package var condition: Enforcement
        /// A presigned PUT of other bytes than those whose SHA-256 it is bound to.
        package var checksum: Enforcement
        /// A presigned PUT with fields that are not signed, by which it would copy another object.
        package var unsignedCopy: Enforcement
        /// Whether an object of the worker's is the bucket owner's; `nil` when the store does not name both.
        package var ownersAgree: Result<Bool?, AWSError>

        package init(
            presignedCondition: Enforcement, condition: Enforcement, checksum: Enforcement, unsignedCopy: Enforcement,
            ownersAgree: Result<Bool?, AWSError>
        ) {
            self.presignedCondition = presignedCondition
            self.condition = condition
            self.checksum = checksum
            self.unsignedCopy = unsignedCopy
            self.ownersAgree = ownersAgree
        }
    }

    /// As its responses tell; `nil` when they do not.
    package var store: ObjectStore?
    package var written: Written?

    package init(store: ObjectStore?, written: Written?) {
        self.store = store
        self.written = written
    }
}

/// Which store it is, and what of S3 does not hold there.
package struct StoreFindings {
    private let observations: StoreObservations
    private let expected: ObjectStore
    private let check = CheckName.store

    /// - Parameter expected: of the settings.
    package init(_ observations: StoreObservations, expected: ObjectStore) {
        self.observations = observations
        self.expected = expected
    }

    package var all: [Finding] {
        guard let written = observations.written else { return [kind] }
        return [
            kind,
            finding(
                written.presignedCondition, "a presigned upload leaves an object alone that is there already",
                "a presigned upload overwrites an object that is there already: If-None-Match in its query is ignored",
                why: "a client can replace what it uploaded until its URL ends",
                advice: "shorten uploads.lifetimeSeconds; a multipart upload needs no such condition"),
            finding(
                written.condition, "a PUT with If-None-Match leaves an object alone that is there already",
                "a PUT overwrites an object that is there already: If-None-Match is ignored",
                why: "two runs of cloakroom lifecycle canary at once could each forget what the other did",
                advice: "give each host a --name of its own"),
            finding(
                written.checksum, "a presigned upload of other bytes than announced is refused",
                "a presigned upload of other bytes than announced is stored: its SHA-256 is ignored",
                why: "sha256 in an upload's request protects from no damage on the way, and from no other file",
                advice: "let apps compare the object's entity tag with the MD5 of what they sent"),
            copies(written.unsignedCopy),
            owners(written.ownersAgree),
        ]
    }

    private var kind: Finding {
        guard let store = observations.store else {
            return check.skipped("the store does not tell what it is; vending.store is \"\(expected.rawValue)\"")
        }
        guard store != expected else { return check.ok("the store is \(store.name), as vending.store says") }
        let found = "the store is \(store.name), but vending.store is \"\(expected.rawValue)\""
        let advice = "set vending.store: \"\(store.rawValue)\""
        guard store == .ceph else {
            return check.warning(found, why: "the built-in scopes name the actions of another store", advice: advice)
        }
        return check.error(
            found, why: "Ceph refuses a session policy that names an action which it does not have, as full does",
            advice: advice)
    }

    private func finding(_ heed: Enforcement, _ honoured: String, _ ignored: String, why: String, advice: String)
        -> Finding
    {
        switch heed {
        case .honoured: check.ok(honoured)
        case .ignored: check.warning(ignored, why: why, advice: advice)
        case .unclear(let words): check.skipped("whether \(honoured) cannot be told: \(words)")
        }
    }

    private func copies(_ heed: Enforcement) -> Finding {
        let sound = "a presigned upload copies no other object"
        guard heed == .ignored else { return finding(heed, sound, "", why: "", advice: "") }
        return check.error(
            "a presigned upload copies every object that the worker may read: header fields that are not signed are heeded",
            why: "with an upload URL, each user reads the photos of all others whose keys they know",
            advice: observations.store == .ceph && expected != .ceph
                ? "set vending.store: \"ceph\", with which upload URLs refuse such fields"
                : "use another store, or let nginx refuse /v2/attachments/presigned, /v2/uploads and /companion")
    }

    private func owners(_ agree: Result<Bool?, AWSError>) -> Finding {
        switch agree {
        case .success(true?): check.ok("what the worker writes belongs to the bucket's owner")
        case .success(false?):
            check.warning(
                "what the worker writes belongs to the worker, not to the bucket's owner",
                why: "a renewed asset changes its owner, and rights that its owner had end",
                advice: "let the worker's user own the bucket; on AWS, set the bucket's object ownership to "
                    + "BucketOwnerEnforced")
        case .success(nil): check.skipped("the store does not name the owners of bucket and object")
        case .failure(let fault):
            check.skipped(
                "whose the worker's objects are cannot be told: \(fault.words)",
                advice: "allow s3:GetBucketAcl, or run the doctor as an operator: deploy/iam/doctor-policy.json")
        }
    }
}
