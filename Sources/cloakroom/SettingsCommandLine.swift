import CloakroomAWS
import CloakroomLoop
import CloakroomServer

/// A command line that takes one settings file, and the way from it to the bucket.
struct SettingsCommandLine {
    let settings: Settings
    let file: String

    /// How long one request to S3 may take, retries included.
    static let requestDeadline: Duration = .seconds(30)

    init(_ options: Options) throws(EarlyExit) {
        file = try options.settingsFile()
        settings = try SettingsFile.require(file)
    }

    /// Runs the loop until the body is done with S3.
    ///
    /// - Parameters:
    ///   - renewal: `nil` for that of the settings.
    ///   - permissions: what the command takes, for a refusal.
    ///   - maximumResponseBytes: `nil` for what responses to a worker need at most.
    func withUpstreams(
        renewal: RenewalSettings? = nil, permissions: String = Self.permissions, maximumResponseBytes: Int? = nil,
        _ body: @escaping @LoopActor @Sendable (Upstreams) async throws -> ExitStatus
    ) -> ExitStatus {
        let settings = settings
        return .onLoop {
            do {
                let upstreams = Upstreams(of: settings, renewal: renewal, maximumResponseBytes: maximumResponseBytes)
                try await upstreams.credentials.require()
                return try await body(upstreams)
            } catch let fault as AWSError {
                return Output.fail(Self.sentence(fault, bucket: settings.bucket, permissions: permissions))
            } catch {
                return Output.fail("\(error)")
            }
        }
    }

    /// For the commands about the rule.
    static let permissions =
        "it takes s3:GetLifecycleConfiguration and s3:GetBucketVersioning, and to apply s3:PutLifecycleConfiguration,"
        + " s3:ListBucket and s3:ListBucketVersions"

    /// What went wrong, and the remedy.
    static func sentence(_ fault: AWSError, bucket: String, permissions: String = permissions) -> String {
        switch (fault.status, fault.code) {
        case (0, let code): "S3 does not respond (\(code)); is aws.s3Endpoint right, and the network there?"
        case (_, "NoSuchBucket"): "there is no bucket \(bucket); make it, or fix bucket in the settings"
        case (301, _), (400, "AuthorizationHeaderMalformed"):
            "the bucket \(bucket) is in another Region; fix region in the settings"
        case (403, let code):
            "S3 says \(code) (403): these credentials may not do this; \(permissions)"
        case (_, "ChangedMeanwhile"): "the bucket's rules changed meanwhile, and nothing was put; run it again"
        case (_, "RuleCount"): "S3 keeps at most 1000 rules a bucket; remove one, or give --replace"
        case (_, "CORSRuleCount"): "S3 keeps at most 100 rules for web pages a bucket; remove one"
        case (501, let code): "this store knows no such rules (\(code), 501)"
        case (let status, let code): "S3 says \(code) (\(status))"
        }
    }
}
