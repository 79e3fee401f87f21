/// What the environment and the shared config file say about endpoints; for what the settings leave open.
///
/// Source: AWS SDKs and Tools Reference Guide, "Service-specific endpoints", "Dual-stack and FIPS endpoints".
package struct EndpointPreferences: Sendable, Equatable {
    /// A URL, and where it stands.
    package struct ConfiguredURL: Sendable, Equatable {
        package let url: String
        package let source: String
    }

    package let fips: Bool
    package let dualStack: Bool
    package let sts: ConfiguredURL?
    package let s3: ConfiguredURL?

    package init(environment: AWSEnvironment, profiles: SharedProfiles) {
        func isTrue(_ variable: String, _ property: String) -> Bool {
            environment[variable].map { _ in environment.isTrue(variable) }
                ?? (profiles.property(property)?.lowercased() == "true")
        }
        fips = isTrue("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint")
        dualStack = isTrue("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint")
        let isIgnored = isTrue("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "ignore_configured_endpoint_urls")
        func configuredURL(_ service: String) -> ConfiguredURL? {
            guard !isIgnored else { return nil }
            for variable in ["AWS_ENDPOINT_URL_\(service.uppercased())", "AWS_ENDPOINT_URL"] {
                if let url = environment[variable] { return ConfiguredURL(url: url, source: variable) }
            }
            let source = "profile \(profiles.chosen), endpoint_url"
            return (profiles.property("endpoint_url", ofService: service) ?? profiles.property("endpoint_url"))
                .map { ConfiguredURL(url: $0, source: source) }
        }
        sts = configuredURL("sts")
        s3 = configuredURL("s3")
    }
}
