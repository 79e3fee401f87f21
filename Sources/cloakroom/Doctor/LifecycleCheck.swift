import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// Reads the bucket's lifecycle configuration, and reviews it as `cloakroom lifecycle verify` does.
@LoopActor
struct LifecycleCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        let terms = LifecycleTerms(dependencies.settings)
        do throws(AWSError) {
            let found = try await BucketLifecycle(dependencies.s3)
            return LifecycleFindings.all(LifecycleReview(found.configuration, found.versioning, terms), terms)
        } catch {
            return [LifecycleFindings.unread(error, terms)]
        }
    }
}
