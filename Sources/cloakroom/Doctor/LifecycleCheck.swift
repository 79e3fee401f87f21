import AWS
import Loop
import Service

/// Reads the bucket's lifecycle configuration, and judges it as `cloakroom lifecycle verify` does.
@LoopActor
struct LifecycleCheck {
    private let world: DoctorWorld

    init(_ world: DoctorWorld) { self.world = world }

    func findings() async -> [Finding] {
        do throws(Fault) {
            let found = try await BucketLifecycle(world.s3)
            let terms = LifecycleTerms(world.settings)
            return LifecycleFindings.all(LifecycleReview(found.configuration, found.versioning, terms), terms)
        } catch {
            return [LifecycleFindings.unread(error)]
        }
    }
}
