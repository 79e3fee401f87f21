import AWS
import Loop
import Service

/// Tries with the worker's own credentials what a worker needs not do; see ``S3Probe`` for why that harms nobody.
@LoopActor
struct WorkerCheck {
    private let world: DoctorWorld

    init(_ world: DoctorWorld) { self.world = world }

    func findings() async -> [Finding] {
        do throws(CredentialFault) {
            return await findings(try await world.requireCredentials())
        } catch {
            return WorkerFindings.noCredentials(error)
        }
    }

    private func findings(_ origin: String) async -> [Finding] {
        let (settings, s3, deadline) = (world.settings, world.s3, world.deadline)
        let service = world.s3(endpoint: settings.aws.s3.withoutBucket(settings.bucket))
        let buckets = await BucketCheck.result { () throws(Fault) in
            try await service.ask(.listBuckets, deadline: deadline)
        }
        var answers = WorkerAnswers(
            origin: origin, buckets: buckets, delete: .unclear("unasked"),
            policy: ProbeOutcome(ofPolicy: await fault(.putPolicy)), userFolder: nil)
        if let object = ObjectAddress(key: "cloakroom-doctor-outside-\(world.name)") {
            answers.delete = ProbeOutcome(await fault(.delete(object)))
        }
        if let folder = settings.vending.prefixes.first, !folder.isEmpty,
            let object = ObjectAddress(key: "\(folder)/cloakroom-doctor-1/\(world.name)")
        {
            answers.userFolder = await BucketCheck.result { () throws(Fault) in
                try await s3.exists(object, deadline: deadline)
            }
        }
        return WorkerFindings(
            answers, bucket: settings.bucket, renewsUsersFolders: settings.renewal.ownFolders != nil
        ).all
    }

    /// - Returns: `nil` when it worked.
    private func fault(_ probe: S3Probe) async -> Fault? {
        do throws(Fault) {
            try await world.s3.ask(probe, deadline: world.deadline)
            return nil
        } catch {
            return error
        }
    }
}
