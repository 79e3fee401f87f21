import CloakroomScriptedS3
import CloakroomTestSupport

/// An S3 that answers as AWS does, before a worker with the tests' settings.
struct ScriptedUpstream {
    let s3: ScriptedS3

    init(_ change: (inout ScriptedS3.Options) -> Void = { _ in }) throws {
        OnLoop.startLoop()
        var options = ScriptedS3.Options()
        options.bucket = SeaweedFS.bucket
        options.region = SeaweedFS.region
        options.identity = ScriptedIdentity(
            accessKeyID: SeaweedFS.broker, secretAccessKey: SeaweedFS.brokerSecret)
        change(&options)
        s3 = try ScriptedS3(options)
    }

    /// A stack whose worker copies there; one try a call, and everything but what is fresh is renewed.
    func options(nginx: Bool = false, _ change: @escaping (inout TestSettings) -> Void = { _ in }) -> Stack.Options {
        var options = Stack.Options { [url = s3.url] settings in
            settings["aws.s3Endpoint"] = url
            settings["aws.maximumAttempts"] = 1
            settings["renewal.minimumAgeSeconds"] = 86_400
            settings["limits.renew.requests"] = 100_000
            settings["limits.renewKeys.keys"] = 1_000_000
            change(&settings)
        }
        options.nginx = nginx
        return options
    }
}
