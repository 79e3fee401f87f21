import AWS
import Loop
import Service

/// Asks for the bucket as the worker; changes nothing.
@LoopActor
struct BucketCheck {
    private let world: DoctorWorld

    init(_ world: DoctorWorld) { self.world = world }

    func findings() async -> [Finding] {
        let (s3, deadline) = (world.s3, world.deadline)
        let presence = await Self.result { () throws(Fault) in try await s3.presence(deadline: deadline) }
        guard case .success(.here) = presence,
            let missing = ObjectAddress(key: world.settings.ownObjects.doctor + "missing-" + world.name)
        else {
            let unasked = Fault(.cancelled, code: "Unasked")
            return BucketFindings(
                .init(
                    presence: presence, missingKey: .failure(unasked), versioning: .failure(unasked),
                    objectLock: .failure(unasked)), world.settings
            ).all
        }
        return BucketFindings(
            .init(
                presence: presence,
                missingKey: await Self.result { () throws(Fault) in try await s3.exists(missing, deadline: deadline) },
                versioning: await Self.result { () throws(Fault) in try await s3.versioning(deadline: deadline) },
                objectLock: await Self.result { () throws(Fault) in
                    do throws(Fault) {
                        try await s3.ask(.objectLock, deadline: deadline)
                        return true
                    } catch  where error.status == 404 {
                        return false
                    }
                }), world.settings
        ).all
    }

    static func result<Value: Sendable>(
        _ body: @LoopActor () async throws(Fault) -> Value
    ) async -> Result<Value, Fault> {
        do throws(Fault) { return .success(try await body()) } catch { return .failure(error) }
    }
}
