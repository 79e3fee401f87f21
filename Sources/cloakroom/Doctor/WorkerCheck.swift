import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// Tries with the worker's own credentials what a worker needs not do; see ``S3Probe`` for why that is harmless.
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
            answers.chat = .init(
                keyPrefix: chat.keyPrefix, mode: chat.mode, delete: ProbeOutcome(await fault(.delete(object))),
                tag: chat.mode == .tag ? ProbeOutcome(await fault(.tag(object))) : .unclear("unasked"))
        }
        return WorkerFindings(
            answers, bucket: settings.bucket, renewsUsersFolders: settings.renewal.ownFolders != nil
        ).all
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
