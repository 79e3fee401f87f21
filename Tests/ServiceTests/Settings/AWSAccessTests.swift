import CloakroomAWS
import CloakroomServer
import Testing

/// How settings, environment and the shared config file come together.
struct AWSAccessTests {
    private static func load(
        aws: String = "", region: String = "eu-central-1", environment: [String: String] = [:], config: String? = nil
    ) throws(SettingsErrors) -> Settings.AWSAccess {
        let partition = region.hasPrefix("cn-") ? "aws-cn" : "aws"
        let text = """
            {
              region: "\(region)", bucket: "photos", aws: {\(aws)},
              tokens: {issuers: [{issuer: "i", audiences: ["a"], secret: {env: "SIGNING"}}]},
              vending: {roleARN: "arn:\(partition):iam::123456789012:role/r"},
            }
            """
        let variables = environment.merging(["SIGNING": "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae", "HOME": "/home/w"]) { $1 }
        return try Settings.load(file: "/etc/cloakroom/settings.json5", environment: variables) { path in
            switch path {
            case "/etc/cloakroom/settings.json5": Array(text.utf8)
            case "/home/w/.aws/config": config.map { Array($0.utf8) }
            default: nil
            }
        }.aws
    }

    private static func fault(
        aws: String = "", region: String = "eu-central-1", environment: [String: String] = [:], config: String? = nil
    ) -> String {
        do throws(SettingsErrors) {
            _ = try load(aws: aws, region: region, environment: environment, config: config)
            return "none"
        } catch {
            return error.description
        }
    }

    @Test func `settings come before variables, and variables before the profile`() throws {
        let config = "[default]\nendpoint_url = http://profile.example\nuse_dualstack_endpoint = true\n"
        let variables = ["AWS_ENDPOINT_URL_S3": "http://variable.example:8333", "AWS_CA_BUNDLE": "/ca.pem"]
        let access = try Self.load(
            aws: "stsEndpoint: 'http://127.0.0.1:1', useDualStack: false", environment: variables, config: config)
        #expect(access.sts.url == "http://127.0.0.1:1")
        #expect(access.s3.url == "http://photos.variable.example:8333")
        #expect(access.certificateAuthorities == "/ca.pem")
    }

    @Test func `FIPS and dual stack by settings and by variables`() throws {
        for access in [
            try Self.load(aws: "useFIPS: true, useDualStack: true"),
            try Self.load(environment: ["AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "True"]),
        ] {
            #expect(access.sts.url == "https://sts-fips.eu-central-1.api.aws")
            #expect(access.s3.url == "https://photos.s3-fips.dualstack.eu-central-1.amazonaws.com")
        }
        #expect(
            try Self.load(aws: "useFIPS: false", environment: ["AWS_USE_FIPS_ENDPOINT": "true"]).sts.url
                == "https://sts.eu-central-1.amazonaws.com")
    }

    @Test func `keys of the settings are used; the environment's are the chain's`() throws {
        let keys = ["AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "shh"]
        #expect(try Self.load(environment: keys).keys == nil)
        let own = try Self.load(aws: "accessKeyID: 'MINE', secretAccessKey: {env: 'SIGNING'}", environment: keys)
        #expect(own.keys?.accessKeyID == "MINE")
        let named = try Self.load(aws: "credentials: 'webIdentity', profile: 'broker'", environment: keys)
        #expect(named.keys == nil && named.provider == .webIdentity && named.profile == "broker")
    }

    /// The chain's provider reads the environment alone, and would miss what the settings name elsewhere.
    @Test func `keys of which only a part is the environment's are the settings'`() throws {
        let keys = ["AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "shh"]
        for (aws, environment) in [
            ("secretAccessKey: {env: 'SIGNING'}", ["AWS_ACCESS_KEY_ID": "AKID"]),
            ("secretAccessKey: {env: 'SIGNING'}", keys), ("sessionToken: {env: 'SIGNING'}", keys),
        ] {
            let access = try Self.load(aws: aws, environment: environment)
            #expect(access.keys?.accessKeyID == "AKID", "\(aws)")
            #expect(access.keys?.secretAccessKey == access.secretAccessKey)
            #expect(access.keys?.sessionToken == access.sessionToken)
        }
    }

    @Test func `keys of the settings go without the token of the environment's`() throws {
        let session = ["AWS_ACCESS_KEY_ID": "ASIA", "AWS_SECRET_ACCESS_KEY": "shh", "AWS_SESSION_TOKEN": "theirs"]
        let own = "accessKeyID: 'MINE', secretAccessKey: {env: 'SIGNING'}"
        #expect(try Self.load(aws: own, environment: session).keys?.sessionToken == nil)
        let more = session.merging(["OTHER": "mine"]) { $1 }
        let token = try Self.load(aws: own + ", sessionToken: {env: 'OTHER'}", environment: more).keys?.sessionToken
        #expect(token?.reveal() == "mine")
    }

    @Test func `lifetimes over an hour are refused only where a session token goes with the keys`() {
        let session = ["AWS_ACCESS_KEY_ID": "ASIA", "AWS_SECRET_ACCESS_KEY": "shh", "AWS_SESSION_TOKEN": "theirs"]
        func faults(_ aws: String) -> [String] {
            settingsFaults(
                smallest(
                    "aws: {\(aws)}, tiers: {free: {lifetimeSeconds: 7200}, paid: {lifetimeSeconds: 3600}}",
                    vending: "lifetimeSeconds: 3601"), environment: session)
        }
        #expect(faults("accessKeyID: 'MINE', secretAccessKey: {env: 'SIGNING'}") == [])
        let remedy = "give 3600 or less, or the keys of an IAM user"
        #expect(
            faults("") == [
                "vending.lifetimeSeconds: is 3601, but credentials with a session token can vend 3600 at most; \(remedy)",
                "tiers.free.lifetimeSeconds: is 7200, but credentials with a session token can vend 3600 at most;"
                    + " \(remedy)",
            ])
    }

    @Test func `tells what contradicts itself`() {
        #expect(
            Self.fault(aws: "useFIPS: true", region: "cn-north-1")
                == "aws.useFIPS: requires an endpoint that the partition lacks; give false")
        #expect(
            Self.fault(aws: "s3Endpoint: 'http://127.0.0.1:1'", environment: ["AWS_USE_FIPS_ENDPOINT": "true"])
                .hasPrefix("aws.s3Endpoint: stands beside FIPS or dual stack, which name AWS's own endpoints;"))
        #expect(
            Self.fault(environment: ["AWS_ENDPOINT_URL": "localhost:8333"])
                == "AWS_ENDPOINT_URL: is no URL of http or https; give scheme, host and port")
        #expect(
            Self.fault(config: "[default]\nendpoint_url = ftp://x")
                == "profile default, endpoint_url: is no URL of http or https; give scheme, host and port")
        #expect(
            Self.fault(config: "what is this")
                == "/home/w/.aws/config, line 1: neither a section, a property nor a comment; "
                + "fix the file, or name another with AWS_CONFIG_FILE")
        #expect(
            Self.fault(aws: "credentials: 'container', accessKeyID: 'A', secretAccessKey: {env: 'SIGNING'}")
                == "aws.credentials: names container, but aws.accessKeyID is there too; give one of the two")
        #expect(
            Self.fault(aws: "credentials: 'sso'").hasPrefix("aws.credentials: is \"sso\"; give: one of \"chain\","))
    }
}
