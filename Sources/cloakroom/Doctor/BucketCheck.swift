import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// Reads the bucket as the worker; changes nothing.
@LoopActor
struct BucketCheck {
    private let dependencies: DoctorDependencies

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        let (s3, deadline) = (dependencies.s3, dependencies.deadline)
        let presence = await Self.result { () throws(AWSError) in try await s3.presence(deadline: deadline) }
        guard case .success(.here) = presence,
            let missing = ObjectAddress(key: dependencies.settings.ownObjects.doctor + "missing-" + dependencies.name)
        else { return BucketFindings(.init(presence: presence), dependencies.settings).all }
        let contents = BucketObservations.Contents(
            missingKey: await Self.result { () throws(AWSError) in try await s3.exists(missing, deadline: deadline) },
            versioning: await Self.result { () throws(AWSError) in try await s3.versioning(deadline: deadline) },
            objectLock: await Self.result { () throws(AWSError) in
                do throws(AWSError) {
                    try await s3.send(.objectLock, deadline: deadline)
                    return true
                } catch  where error.status == 404 {
                    return false
                }
            })
        return BucketFindings(.init(presence: presence, contents: contents), dependencies.settings).all
    }

    static func result<Value: Sendable>(
        _ body: @LoopActor () async throws(AWSError) -> Value
    ) async -> Result<Value, AWSError> {
        do throws(AWSError) { return .success(try await body()) } catch { return .failure(error) }
    }
}
