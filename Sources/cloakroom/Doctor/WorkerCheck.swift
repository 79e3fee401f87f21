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
        let (settings, s3, deadline) = (dependencies.settings, dependencies.s3, dependencies.deadline)
        let service = dependencies.s3(endpoint: settings.aws.s3.withoutBucket(settings.bucket))
        let buckets = await BucketCheck.result { () throws(AWSError) in
            try await service.send(.listBuckets, deadline: deadline)
        }
        var answers = WorkerObservations(
            origin: origin, buckets: buckets, delete: .unclear("unasked"),
            policy: ProbeOutcome(ofPolicy: await fault(.putPolicy)), userFolder: nil)
        if let object = ObjectAddress(key: "cloakroom-doctor-outside-\(dependencies.name)") {
            answers.delete = ProbeOutcome(await fault(.delete(object)))
        }
        if let folder = settings.vending.prefixes.first, !folder.isEmpty,
            let object = ObjectAddress(key: "\(folder)/\(UserID.doctor.text)/\(dependencies.name)")
        {
            answers.userFolder = await BucketCheck.result { () throws(AWSError) in
                try await s3.exists(object, deadline: deadline)
            }
        }
        if let chat = settings.uploads.chat,
            let object = ObjectAddress(key: "\(chat.keyPrefix)cloakroom-doctor-missing-\(dependencies.name)")
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
