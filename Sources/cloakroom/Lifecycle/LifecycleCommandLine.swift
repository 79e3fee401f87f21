import CloakroomAWS
import CloakroomLoop
import CloakroomServer

/// The command line of a `cloakroom lifecycle …`, and the way from it to the bucket.
struct LifecycleCommandLine {
    let options: Options
    let settings: Settings
    let file: String

    struct EarlyExit: Error {
        let status: ExitStatus
    }

    /// How long one request to S3 may take, retries included.
    static let requestDeadline: Duration = .seconds(30)

    /// - Throws: how to end, when there is nothing more to do.
    init(_ arguments: [String], of syntax: CommandSyntax, help: String) throws(EarlyExit) {
        let see = "cloakroom \(syntax.name) --help"
        do { options = try Options(arguments, of: syntax) } catch {
            throw EarlyExit(status: Output.usage("\(error)", see: see))
        }
        if options.wantsHelp { throw EarlyExit(status: Output.print(help)) }
        guard options.operands.count == 1, let file = options.operands.first else {
            throw EarlyExit(status: Output.usage("\(syntax.name) takes one settings file", see: see))
        }
        self.file = file
        do throws(SettingsErrors) { settings = try SettingsFile.load(file) } catch {
            throw EarlyExit(status: Output.fail("\(file) has faults:\n\(error)"))
        }
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
        let status = LoopActor.run {
            do {
                let upstreams = Upstreams(of: settings, renewal: renewal, maximumResponseBytes: maximumResponseBytes)
                try await upstreams.credentials.require()
                return try await body(upstreams).rawValue
            } catch let fault as AWSError {
                return Output.fail(Self.sentence(fault, bucket: settings.bucket, permissions: permissions)).rawValue
            } catch {
                return Output.fail("\(error)").rawValue
            }
        }
        return ExitStatus(rawValue: status) ?? .failure
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
        case (501, let code): "this store knows no lifecycle rules (\(code), 501)"
        case (let status, let code): "S3 says \(code) (\(status))"
        }
    }
}

/// A bucket's lifecycle as it is.
struct BucketLifecycle {
    let configuration: LifecycleConfiguration
    let versioning: BucketVersioning

    @LoopActor
    init(_ s3: S3Client) async throws(AWSError) {
        configuration = try await s3.lifecycle(deadline: .now + LifecycleCommandLine.requestDeadline)
        versioning = try await s3.versioning(deadline: .now + LifecycleCommandLine.requestDeadline)
    }
}
