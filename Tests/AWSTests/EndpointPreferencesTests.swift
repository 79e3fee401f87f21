import CloakroomAWS
import Testing

/// Endpoints by environment and profile. Source: AWS SDKs and Tools Reference Guide, "Service-specific endpoints".
struct EndpointPreferencesTests {
    private static let config = """
        [default]
        services = local
        endpoint_url = http://profile.example
        use_fips_endpoint = true
        [profile bare]
        endpoint_url = http://bare.example
        [profile none]
        ignore_configured_endpoint_urls = true
        endpoint_url = http://ignored.example
        use_dualstack_endpoint = TRUE
        [services local]
        s3 =
          endpoint_url = http://service.example
        dynamodb =
          endpoint_url = http://other.example
        """

    private func preferences(_ environment: [String: String]) throws -> EndpointPreferences {
        let environment = AWSEnvironment(environment.merging(["HOME": "/h"]) { $1 })
        let profiles = try SharedProfiles(environment: environment) { path in
            path == "/h/.aws/config" ? Array(Self.config.utf8) : nil
        }
        return EndpointPreferences(environment: environment, profiles: profiles)
    }

    @Test(
        arguments: [
            (["AWS_ENDPOINT_URL_S3": "http://a", "AWS_ENDPOINT_URL": "http://b"], "http://a", "http://b"),
            (["AWS_ENDPOINT_URL": "http://b"], "http://b", "http://b"),
            ([:], "http://service.example", "http://profile.example"),
            (["AWS_PROFILE": "bare"], "http://bare.example", "http://bare.example"),
            (["AWS_PROFILE": "bare", "AWS_ENDPOINT_URL_STS": "http://c"], "http://bare.example", "http://c"),
            (["AWS_PROFILE": "none"], nil, nil),
            (["AWS_PROFILE": "none", "AWS_ENDPOINT_URL": "http://b"], nil, nil),
            (["AWS_ENDPOINT_URL": "http://b", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"], nil, nil),
        ] as [([String: String], String?, String?)])
    func `the nearer one counts`(environment: [String: String], s3: String?, sts: String?) throws {
        let found = try preferences(environment)
        #expect(found.s3?.url == s3)
        #expect(found.sts?.url == sts)
    }

    @Test func `FIPS and dual stack by variable, else by profile`() throws {
        #expect(try preferences([:]).fips)
        #expect(try !preferences(["AWS_USE_FIPS_ENDPOINT": "false"]).fips)
        #expect(try preferences(["AWS_PROFILE": "none"]).dualStack)
        #expect(try preferences(["AWS_USE_DUALSTACK_ENDPOINT": "true"]).dualStack)
    }

    @Test func `says where it stands`() throws {
        #expect(try preferences(["AWS_ENDPOINT_URL": "http://b"]).s3?.source == "AWS_ENDPOINT_URL")
        #expect(try preferences([:]).s3?.source == "profile default, endpoint_url")
    }
}
