import CloakroomAWS
import CloakroomLoop

/// A bucket's lifecycle as it is.
struct BucketLifecycle {
    let configuration: LifecycleConfiguration
    let versioning: BucketVersioning

    @LoopActor
    init(_ s3: S3Client) async throws(AWSError) {
        configuration = try await s3.lifecycle(deadline: .now + SettingsCommandLine.requestDeadline)
        versioning = try await s3.versioning(deadline: .now + SettingsCommandLine.requestDeadline)
    }
}

extension BucketVersioning {
    var word: String {
        switch self {
        case .never: "never on"
        case .enabled: "on"
        case .suspended: "suspended"
        }
    }
}
