package import CloakroomAWS
package import CloakroomCrypto

extension Settings {
    /// How the worker reaches AWS, and as whom.
    package struct AWSAccess: Sendable {
        /// `nil`, together with the secret: the credentials come from where the worker runs.
        package var accessKeyID: String?
        package var secretAccessKey: Secret?
        package var sessionToken: Secret?
        /// The one provider to use; `nil`: all of them, in their order.
        package var provider: ProviderName?
        /// `nil` means `AWS_PROFILE`'s, else `default`.
        package var profile: String?
        /// For the providers.
        package var environment: AWSEnvironment
        package var sts: Endpoint
        /// Of the bucket.
        package var s3: Endpoint
        /// Where its other buckets are.
        package var buckets: Buckets
        /// Scheme and host, without a path; `nil` means AWS's own for the partition.
        package var iamEndpoint: String?
        /// A PEM file; `nil` means the system's.
        package var certificateAuthorities: String?
        /// For one try.
        package var timeout: Duration
        package var maximumAttempts: Int
    }
}

extension Settings.AWSAccess {
    /// Where S3 has its buckets, by what settings, environment and the shared config file say.
    package struct Buckets: Sendable {
        let region: String
        let pathStyle: Bool?
        let variants: EndpointVariants
        let custom: String?

        package func endpoint(of bucket: String) throws(EndpointError) -> Endpoint {
            try .s3(region: region, bucket: bucket, pathStyle: pathStyle, variants: variants, custom: custom)
        }
    }

    /// The keys of the settings, if they are to be used: those that are but the environment's are left to the chain,
    /// which knows when another provider is meant.
    package var keys: Credentials? {
        guard let accessKeyID, let secretAccessKey else { return nil }
        let isOfEnvironment = accessKeyID == environment["AWS_ACCESS_KEY_ID"]
        let token = environment["AWS_SESSION_TOKEN"]
        guard
            !isOfEnvironment || secretAccessKey.reveal() != environment["AWS_SECRET_ACCESS_KEY"]
                || sessionToken?.reveal() != token
        else { return nil }
        // The environment's token, which is the setting's default, belongs to the environment's key.
        let isForeign = !isOfEnvironment && environment["AWS_ACCESS_KEY_ID"] != nil && sessionToken?.reveal() == token
        return Credentials(
            accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, sessionToken: isForeign ? nil : sessionToken)
    }

    /// The same, with the credentials of a profile.
    package func of(profile: String) -> Self {
        var access = self
        (access.accessKeyID, access.secretAccessKey, access.sessionToken) = (nil, nil, nil)
        (access.provider, access.profile) = (.profile, profile)
        return access
    }

    /// Whether a session token of the settings or of the environment goes with the keys.
    var sendsSessionToken: Bool { keys.map { $0.sessionToken != nil } ?? (sessionToken != nil) }
}

extension SettingsTable {
    struct AWS: SettingsGroup {
        let accessKeyID = SettingsKey(
            optional: "aws.accessKeyID", .textOrReference, environment: "AWS_ACCESS_KEY_ID",
            "The worker's own access key; null: from where the worker runs.")
        let secretAccessKey = SettingsKey(
            optional: "aws.secretAccessKey", .secret, environment: "AWS_SECRET_ACCESS_KEY", "Its secret.")
        let sessionToken = SettingsKey(
            optional: "aws.sessionToken", .secret, environment: "AWS_SESSION_TOKEN",
            "Its session token, if it is temporary.")
        let credentials = SettingsKey(
            "aws.credentials", .choice(["chain"] + AWSAccessReader.providers.keys.sorted()), default: "chain",
            "The provider of the worker's credentials when no key is given: all in the SDKs' order, or one.")
        let profile = SettingsKey(
            optional: "aws.profile", .text(.any), "A profile of the shared files; null: `AWS_PROFILE`, else `default`.")
        let useFIPS = SettingsKey(
            optional: "aws.useFIPS", .flag,
            "Whether AWS's FIPS endpoints are used; null: as `AWS_USE_FIPS_ENDPOINT` or the profile say, else not.")
        let useDualStack = SettingsKey(
            optional: "aws.useDualStack", .flag,
            "Whether AWS's IPv6 endpoints are used; null: as `AWS_USE_DUALSTACK_ENDPOINT` or the profile say, else not."
        )
        let stsEndpoint = SettingsKey(
            optional: "aws.stsEndpoint", .text(.endpoint),
            "Another STS; null: as `AWS_ENDPOINT_URL_STS`, `AWS_ENDPOINT_URL` or the profile say, else AWS's regional one."
        )
        let s3Endpoint = SettingsKey(
            optional: "aws.s3Endpoint", .text(.endpoint),
            "Another S3; null: as `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or the profile say, else AWS's regional one."
        )
        let iamEndpoint = SettingsKey(
            optional: "aws.iamEndpoint", .text(.endpoint),
            "Scheme, host and port of another IAM, for `cloakroom user revoke --apply`; null: the partition's.")
        let pathStyle = SettingsKey(
            optional: "aws.pathStyle", .flag, "Whether the bucket stands in the path; null: where it has to.")
        let certificateAuthorities = SettingsKey(
            optional: "aws.certificateAuthorities", .file,
            "PEM file of whom to trust; null: `AWS_CA_BUNDLE`, else whom the system trusts.")
        let timeoutMilliseconds = SettingsKey(
            "aws.timeoutMilliseconds", .integer(100...60_000), default: 5000,
            "How long one try may take; completing an upload takes what is left of the request's time.")
        let maximumAttempts = SettingsKey(
            "aws.maximumAttempts", .integer(1...10), default: 3, "How often one call is tried, the first included.")
    }
}

/// Puts together what settings, environment and the shared config file say about AWS.
struct AWSAccessReader {
    let values: SettingsValues<SettingsTable>
    let environment: AWSEnvironment
    let readFile: (String) -> [UInt8]?

    /// - Returns: `nil` when a key that it needs has a fault of its own.
    func access() throws(SettingsError) -> Settings.AWSAccess? {
        guard values.isValid(\.region), values.isValid(\.bucket), values.aws.areValid else { return nil }
        let preferences = try preferences()
        let (region, aws) = (values.region, values.aws)
        let variants = EndpointVariants(
            fips: aws.useFIPS ?? preferences.fips, dualStack: aws.useDualStack ?? preferences.dualStack)
        let sts = given(\.stsEndpoint, orElse: preferences.sts)
        let s3 = given(\.s3Endpoint, orElse: preferences.s3)
        let buckets = Settings.AWSAccess.Buckets(
            region: region, pathStyle: aws.pathStyle, variants: variants, custom: s3?.url)
        let access = Settings.AWSAccess(
            accessKeyID: aws.accessKeyID,
            secretAccessKey: aws.secretAccessKey,
            sessionToken: aws.sessionToken,
            provider: Self.providers[aws.credentials],
            profile: aws.profile,
            environment: environment,
            sts: try endpoint(sts) { url throws(EndpointError) in
                try .sts(region: region, variants: variants, custom: url)
            },
            s3: try endpoint(s3) { _ throws(EndpointError) in try buckets.endpoint(of: values.bucket) },
            buckets: buckets,
            iamEndpoint: aws.iamEndpoint,
            certificateAuthorities: aws.certificateAuthorities?.path ?? environment["AWS_CA_BUNDLE"],
            timeout: .milliseconds(aws.timeoutMilliseconds),
            maximumAttempts: aws.maximumAttempts)
        if let provider = access.provider, access.keys != nil {
            throw aws.fault(
                \.credentials, "names \(provider.rawValue), but aws.accessKeyID is there too", "give one of the two")
        }
        return access
    }

    /// By their names in the settings; `chain` is none of them.
    static let providers: [String: ProviderName] = [
        "environment": .environment, "profile": .profile, "webIdentity": .webIdentity, "container": .container,
        "instance": .instance,
    ]

    private func preferences() throws(SettingsError) -> EndpointPreferences {
        do throws(CredentialProviderError) {
            let profiles = try SharedProfiles(
                environment: environment, profile: values.aws.profile, readFile: readFile)
            return EndpointPreferences(environment: environment, profiles: profiles)
        } catch {
            throw SettingsError("", error.reason, "fix the file, or name another with AWS_CONFIG_FILE")
        }
    }

    private func given(
        _ key: KeyPath<SettingsTable.AWS, SettingsKey<String?>>, orElse other: EndpointPreferences.ConfiguredURL?
    ) -> (url: String, source: String)? {
        values.aws[dynamicMember: key].map { ($0, values.aws.path(of: key)) } ?? other.map { ($0.url, $0.source) }
    }

    private func endpoint(
        _ given: (url: String, source: String)?, _ make: (String?) throws(EndpointError) -> Endpoint
    ) throws(SettingsError) -> Endpoint {
        do throws(EndpointError) {
            return try make(given?.url)
        } catch {
            switch error {
            case .invalidURL:
                throw SettingsError(given?.source ?? "aws", "is no URL of http or https", "give scheme, host and port")
            case .noFIPS:
                throw values.fault(\.aws.useFIPS, "requires an endpoint that the partition lacks", "give false")
            case .variantOfCustomEndpoint:
                throw SettingsError(
                    given?.source ?? "aws", "stands beside FIPS or dual stack, which name AWS's own endpoints",
                    "give one of the two; AWS_USE_FIPS_ENDPOINT and AWS_USE_DUALSTACK_ENDPOINT count too")
            case .invalidRegion:
                throw values.fault(\.region, "cannot stand in a host name", "give: \(TextShape.region.expected)")
            case .invalidBucket, .unsupportedBucket:
                throw values.fault(
                    \.bucket, "is an access point's, a directory bucket's or invalid", "give a general purpose bucket")
            }
        }
    }
}
