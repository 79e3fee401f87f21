package import CloakroomAWS
package import CloakroomServer

/// What S3 said about the bucket.
package struct BucketObservations: Sendable {
    /// Of a bucket that is there.
    package struct Contents: Sendable {
        /// Whether a missing key is there.
        package var missingKey: Result<Bool, AWSError>
        package var versioning: Result<BucketVersioning, AWSError>
        package var objectLock: Result<Bool, AWSError>

        package init(
            missingKey: Result<Bool, AWSError>, versioning: Result<BucketVersioning, AWSError>,
            objectLock: Result<Bool, AWSError>
        ) {
            self.missingKey = missingKey
            self.versioning = versioning
            self.objectLock = objectLock
        }
    }

    package var presence: Result<BucketPresence, AWSError>
    /// `nil`: not looked at.
    package var contents: Contents?

    package init(presence: Result<BucketPresence, AWSError>, contents: Contents? = nil) {
        self.presence = presence
        self.contents = contents
    }
}

/// Checks the bucket itself.
package struct BucketFindings {
    private let observations: BucketObservations
    private let settings: Settings
    private let check = CheckName.bucket

    package init(_ observations: BucketObservations, _ settings: Settings) {
        self.observations = observations
        self.settings = settings
    }

    package var all: [Finding] {
        switch observations.presence {
        case .failure(let fault): return [unreachable(fault)]
        case .success(.missing): return [absent]
        case .success(.elsewhere(let region)): return [elsewhere(region)]
        case .success(.accessDenied): return [accessDenied]
        case .success(.here(let region)):
            guard let contents = observations.contents else { return [here(region)] }
            return [here(region), missingKey(contents), versioning(contents), objectLock(contents)]
                .compactMap(\.self)
        }
    }

    private var name: String { "the bucket \(settings.bucket)" }

    private func unreachable(_ fault: AWSError) -> Finding {
        check.error(
            "S3 says \(fault.words) of \(name)", why: "nothing can be uploaded or renewed",
            advice: "see the findings about endpoints and worker")
    }

    private var absent: Finding {
        check.error(
            "there is no bucket \(settings.bucket)", why: "nothing can be uploaded or renewed",
            advice: "fix bucket in the settings, or make it: deploy/terraform")
    }

    private func elsewhere(_ region: String?) -> Finding {
        check.error(
            "\(name) is \(region.map { "in \($0)" } ?? "in another Region"), not in \(settings.region)",
            why: "S3 refuses every request that is signed for another Region",
            advice: region.map { "set region: \"\($0)\"" } ?? "set region to the bucket's")
    }

    private var accessDenied: Finding {
        check.error(
            "S3 responds 403 for \(name)", why: "the worker may not list it, or it belongs to another account",
            advice: "fix bucket in the settings, or allow s3:ListBucket on it: deploy/iam/worker-policy.json")
    }

    private func here(_ region: String?) -> Finding {
        if let region, region != settings.region { return elsewhere(region) }
        return check.ok("\(name) is there" + (region.map { ", in \($0)" } ?? "; the store names no Region"))
    }

    private func missingKey(_ contents: BucketObservations.Contents) -> Finding {
        switch contents.missingKey {
        case .success(false): return check.ok("a missing key gets 404 NoSuchKey")
        case .success(true):
            return check.warning(
                "a missing key is said to be there", why: "then no asset is ever told to be gone",
                advice: "look at what stands between the worker and S3")
        case .failure(let fault) where fault.status == 403:
            return check.error(
                "a missing key gets 403, not 404",
                why: "apps are never told that an asset is gone, and whole batches fail instead",
                advice: "allow s3:ListBucket on the bucket, without a condition: deploy/iam/worker-policy.json")
        case .failure(let fault):
            return check.error(
                "a missing key gets \(fault.words)", why: "apps are never told that an asset is gone",
                advice: "look up the code in the store's manual")
        }
    }

    private func versioning(_ contents: BucketObservations.Contents) -> Finding {
        switch contents.versioning {
        case .success(.never): return check.ok("versions are off")
        case .success(.enabled), .success(.suspended):
            return check.warning(
                "the bucket keeps old versions",
                why: "each renewal leaves one, which is paid for until a rule for noncurrent versions takes it",
                advice: settings.tieredFolders.parents.isEmpty
                    ? "let cloakroom lifecycle apply add that rule, or use a bucket without versions"
                    : "let cloakroom lifecycle apply add that rule; of tiered photos, versions are what brings back one that"
                        + " was deleted")
        case .failure(let fault): return unseen("whether it keeps versions", "s3:GetBucketVersioning", fault)
        }
    }

    private func objectLock(_ contents: BucketObservations.Contents) -> Finding? {
        switch contents.objectLock {
        case .success(false): return nil
        case .success(true):
            return check.warning(
                "Object Lock is on", why: "a renewed object is a new version without the lock; the locked one stays",
                advice: "keep assets that are renewed in a bucket without it")
        case .failure(let fault) where fault.status == 403:
            return unseen("whether Object Lock is on", "s3:GetBucketObjectLockConfiguration", fault)
        case .failure: return nil
        }
    }

    private func unseen(_ what: String, _ action: String, _ fault: AWSError) -> Finding {
        check.skipped(
            "S3 does not tell \(what): \(fault.words)",
            advice: "allow \(action), or run the doctor as an operator: deploy/iam/doctor-policy.json")
    }
}
