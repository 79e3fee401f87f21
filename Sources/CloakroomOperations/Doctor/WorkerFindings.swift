package import CloakroomAWS

/// What the worker's own credentials were allowed. None of it can do harm: see ``S3Probe``.
package struct WorkerObservations: Sendable {
    /// Whose they are.
    package var origin: String
    /// The buckets it was told of.
    package var buckets: Result<[String], AWSError>
    /// Of a missing key, outside of the doctor's own folder.
    package var delete: ProbeOutcome
    /// Of a bucket policy that is none.
    package var policy: ProbeOutcome
    /// Whether a missing key is in a user's folder; `nil`: users have the bucket itself.
    package var userFolder: Result<Bool, AWSError>?
    /// Of a missing image of a chat; `nil`: there are none.
    package var chat: Chat?

    package struct Chat: Sendable {
        package var keyPrefix: String
        package var mode: ReleaseMode
        /// What was probed: the actions that the mode needs, and deletion.
        package var outcomes: [ChatAction: ProbeOutcome]

        package init(keyPrefix: String, mode: ReleaseMode, outcomes: [ChatAction: ProbeOutcome]) {
            self.keyPrefix = keyPrefix
            self.mode = mode
            self.outcomes = outcomes
        }
    }

    package init(
        origin: String, buckets: Result<[String], AWSError>, delete: ProbeOutcome, policy: ProbeOutcome,
        userFolder: Result<Bool, AWSError>?, chat: Chat? = nil
    ) {
        self.origin = origin
        self.buckets = buckets
        self.delete = delete
        self.policy = policy
        self.userFolder = userFolder
        self.chat = chat
    }
}

/// Checks whether the worker may do more than it needs, for an attacker who takes it over may do the same, and whether it
/// may do what images of chats need.
package struct WorkerFindings {
    private let observations: WorkerObservations
    private let bucket: String
    private let renewsUsersFolders: Bool
    private let check = CheckName.worker
    private static let advice = "give it no more than deploy/iam/worker-policy.json"

    /// - Parameter renewsUsersFolders: `renewal.requireOwnPrefix`: assets lie in users' folders.
    package init(_ observations: WorkerObservations, bucket: String, renewsUsersFolders: Bool) {
        self.observations = observations
        self.bucket = bucket
        self.renewsUsersFolders = renewsUsersFolders
    }

    package static func noCredentials(_ fault: CredentialChainError) -> [Finding] {
        [
            CheckName.worker.error(
                "no AWS credentials: \(fault.summary)", why: "nothing can be vended or renewed",
                advice: "run the doctor where and as the worker runs, or fix what is named")
        ]
    }

    package var all: [Finding] {
        let tooMuch = [buckets, delete, policy, userFolder, chatDeletion].compactMap(\.self)
        let origin = check.ok("its credentials are there: \(observations.origin)")
        let rest = tooMuch.isEmpty ? [check.ok("it can do none of what it needs not, as far as S3 tells")] : tooMuch
        return [origin] + chatActions + rest + untold
    }

    private var buckets: Finding? {
        guard case .success(let names) = observations.buckets, names.contains(where: { $0 != bucket }) else {
            return nil
        }
        return excess("it can list \(names.count) buckets", "it learns of data it has nothing to do with")
    }

    private var delete: Finding? {
        observations.delete == .allowed
            ? excess("it can delete objects", "who takes it over can delete every asset; renewing needs no deletion")
            : nil
    }

    private var policy: Finding? {
        observations.policy == .allowed
            ? excess("it can change the bucket's policy", "who takes it over can open the bucket to everyone") : nil
    }

    private var untold: [Finding] {
        [("delete objects", observations.delete), ("change the bucket's policy", observations.policy)].compactMap {
            guard case .unclear(let words) = $1 else { return nil }
            return check.skipped("S3 does not tell whether it can \($0): \(words)")
        }
    }

    private var userFolder: Finding? {
        guard !renewsUsersFolders, case .success = observations.userFolder else { return nil }
        return excess(
            "it can read users' folders",
            "who takes it over has every user's photos; the worker itself has no need of them")
    }

    /// What uploads, renewals and releases of images of chats need, on that prefix alone.
    private var chatActions: [Finding] {
        guard let chat = observations.chat else { return [] }
        let needed = ChatAction.needed(chat.mode)
        let missing = needed.filter { chat.outcomes[$0] == .refused }
        let unclear = needed.compactMap { action -> Finding? in
            guard case .unclear(let words) = chat.outcomes[action] else { return nil }
            return check.skipped("S3 does not tell whether it has \(action.rawValue) on \(chat.keyPrefix)*: \(words)")
        }
        guard missing.isEmpty else { return [lacks(missing, chat)] + unclear }
        guard unclear.isEmpty else { return unclear }
        return [
            check.ok(
                "it can upload images of chats under \(chat.keyPrefix), look for them, and release them by"
                    + " \(ChatAction.release(chat.mode).rawValue)")
        ]
    }

    private func lacks(_ missing: [ChatAction], _ chat: WorkerObservations.Chat) -> Finding {
        let effects = missing.compactMap { action -> String? in
            switch action {
            case .upload: "every upload of such an image gets 403"
            case .abortUpload, .listParts: "multipart uploads of such images fail"
            case .read: "renewals cannot tell what is gone from such an image"
            case .delete, .tag: "what users delete stays readable until the bucket's rule ends it"
            }
        }
        let all = ChatAction.list(ChatAction.needed(chat.mode))
        return check.error(
            "it lacks \(ChatAction.list(missing)) on images of chats under \(chat.keyPrefix)",
            why: effects.enumerated().filter { effects.firstIndex(of: $1) == $0 }.map(\.element).joined(
                separator: "; "),
            advice: "allow \(all) on \(chat.keyPrefix)* alone: \(ChatAction.file(chat.mode))"
                + (missing.contains(.read) ? "; without s3:ListBucket S3 refuses s3:GetObject here as well" : ""))
    }

    private var chatDeletion: Finding? {
        guard let chat = observations.chat, chat.mode == .tag, chat.outcomes[.delete] == .allowed,
            observations.delete != .allowed
        else { return nil }
        return excess(
            "it can delete images of chats, though release.mode is \"tag\"",
            "who takes it over can delete them at once; a tag needs no such right")
    }

    private func excess(_ found: String, _ why: String) -> Finding {
        check.warning(found, why: why, advice: Self.advice)
    }
}

extension ProbeOutcome {
    /// Of a bucket policy that is none: to find that out, S3 must have let it through. Stores without policies say 501.
    ///
    /// - Parameter fault: `nil` when it worked.
    package init(ofPolicy fault: AWSError?) {
        if let fault, fault.status == 400, fault.kind == .refused { self = .allowed } else { self.init(fault) }
    }
}
