import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// Tries with the worker's own credentials what a worker needs not do, and what it needs for images of chats; see ``S3Probe`` for why that is harmless.
@LoopActor
struct WorkerCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        do throws(CredentialChainError) {
            return await findings(try await dependencies.requireCredentials())
        } catch {
            return WorkerFindings.noCredentials(error)
        }
    }

    private func findings(_ origin: String) async -> [Finding] {
        let (settings, deadline) = (dependencies.settings, dependencies.deadline)
        let service = dependencies.s3(endpoint: settings.aws.s3.withoutBucket(settings.bucket))
        let buckets = await BucketCheck.result { () throws(AWSError) in
            try await service.send(.listBuckets, deadline: deadline)
        }
        var answers = WorkerObservations(
            origin: origin, buckets: buckets, policy: ProbeOutcome(ofPolicy: await fault(.putPolicy)))
        answers.deletions = await outcomes(outside + assets + users) { .delete($0) }
        // Where users have the bucket itself, assets are among what they store.
        if !settings.userFolders.parents.contains("") { answers.reads = await outcomes(users) { .read($0) } }
        if let chat = settings.uploads.chat,
            let object = ObjectAddress(key: "\(chat.keyPrefix)\(missing)")
        {
            var outcomes: [ChatAction: ProbeOutcome] = [:]
            // Deletion in each mode: with a tag it is too much.
            for action in Set(ChatAction.needed(chat.mode) + [.delete]) {
                outcomes[action] = ProbeOutcome(await fault(Self.probe(action, object)))
            }
            answers.chat = .init(keyPrefix: chat.keyPrefix, mode: chat.mode, outcomes: outcomes)
        }
        return WorkerFindings(
            answers, bucket: settings.bucket, renewsUsersFolders: settings.renewal.ownFolders != nil
        ).all
    }

    // MARK: Keys that are not there

    /// A place in the words of a sentence, and a key there.
    private typealias Place = (words: String, key: String)

    private var missing: String { "cloakroom-doctor-missing-\(dependencies.name)" }

    private var outside: [Place] { [("in the bucket itself", "cloakroom-doctor-outside-\(dependencies.name)")] }

    private var assets: [Place] {
        dependencies.settings.assetPrefixes.map(\.prefix).filter { !$0.isEmpty }
            .map { ("under \($0)", "\($0)\(missing)") }
    }

    private var users: [Place] {
        dependencies.settings.userFolders.parents
            .map { ("under \($0)USER/", "\($0)\(UserID.doctor.text)/\(missing)") }
    }

    private func outcomes(
        _ places: [Place], _ probe: (ObjectAddress) -> S3Probe
    ) async -> [WorkerObservations.Place] {
        var outcomes: [WorkerObservations.Place] = []
        for place in places {
            guard let object = ObjectAddress(key: place.key) else { continue }
            outcomes.append(.init(words: place.words, outcome: ProbeOutcome(await fault(probe(object)))))
        }
        return outcomes
    }

    private static func probe(_ action: ChatAction, _ object: ObjectAddress) -> S3Probe {
        switch action {
        case .read: .read(object)
        case .upload: .uploadPart(object)
        case .abortUpload: .abortUpload(object)
        case .listParts: .listParts(object)
        case .delete: .delete(object)
        case .tag: .tag(object)
        }
    }

    /// - Returns: `nil` when it worked.
    private func fault(_ probe: S3Probe) async -> AWSError? {
        do throws(AWSError) {
            try await dependencies.s3.send(probe, deadline: dependencies.deadline)
            return nil
        } catch {
            return error
        }
    }
}
