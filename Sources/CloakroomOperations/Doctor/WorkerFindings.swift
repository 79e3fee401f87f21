package import CloakroomAWS

/// What the worker's own credentials were allowed. None of it can do harm: see ``S3Probe``.
package struct WorkerObservations: Sendable {
    /// Whose they are.
    package var origin: String
    /// The buckets it was told of.
    package var buckets: Result<[String], AWSError>
    /// Of a bucket policy that is none.
    package var policy: ProbeOutcome
    /// Of deletions of missing keys: in the bucket itself, in each place of assets, and in each of users' folders.
    package var deletions: [Place] = []
    /// Of reading missing keys in each of users' folders; empty: users have the bucket itself.
    package var reads: [Place] = []
    /// Of a missing image of a chat; `nil`: there are none.
    package var chat: Chat?

    package struct Place: Sendable {
        /// Such as `under assets/`.
        package var words: String
        package var outcome: ProbeOutcome

        package init(words: String, outcome: ProbeOutcome) {
            self.words = words
            self.outcome = outcome
        }
    }

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
        origin: String, buckets: Result<[String], AWSError>, policy: ProbeOutcome, chat: Chat? = nil
    ) {
        self.origin = origin
        self.buckets = buckets
        self.policy = policy
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
        let tooMuch = [buckets, deletion, policy, reading, chatDeletion].compactMap(\.self)
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

    private var deletion: Finding? {
        Self.allowed(observations.deletions).map {
            excess(
                "it can delete objects \($0)",
                "who takes it over can delete all that is there; renewing needs no deletion")
        }
    }

    /// - Returns: `nil` where it was allowed nowhere.
    private static func allowed(_ places: [WorkerObservations.Place]) -> String? {
        let words = places.filter { $0.outcome == .allowed }.map(\.words)
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    private var policy: Finding? {
        observations.policy == .allowed
            ? excess("it can change the bucket's policy", "who takes it over can open the bucket to everyone") : nil
    }

    private var untold: [Finding] {
        let policy = WorkerObservations.Place(words: "the bucket's policy", outcome: observations.policy)
        return untold("delete objects", observations.deletions) + untold("change", [policy])
            + (renewsUsersFolders ? [] : untold("read objects", observations.reads))
    }

    private func untold(_ action: String, _ places: [WorkerObservations.Place]) -> [Finding] {
        var faults: [(words: String, places: [String])] = []
        for place in places {
            guard case .unclear(let words) = place.outcome else { continue }
            if let index = faults.firstIndex(where: { $0.words == words }) {
                faults[index].places.append(place.words)
            } else {
                faults.append((words, [place.words]))
            }
        }
        return faults.map { fault in
            let places = fault.places.joined(separator: ", ")
            return check.skipped("S3 does not tell whether it can \(action) \(places): \(fault.words)")
        }
    }

    private var reading: Finding? {
        guard !renewsUsersFolders, let places = Self.allowed(observations.reads) else { return nil }
        return excess(
            "it can read what users store \(places)",
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
        guard let chat = observations.chat, chat.mode == .tag, chat.outcomes[.delete] == .allowed else { return nil }
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
