/// What the environment and the shared config file say about endpoints; for what the settings leave open.
///
/// Source: AWS SDKs and Tools Reference Guide, "Service-specific endpoints", "Dual-stack and FIPS endpoints".
package struct EndpointPreferences: Sendable, Equatable {
    /// A URL, and where it stands.
    package struct Given: Sendable, Equatable {
        package let url: String
        package let place: String
    }

    package let fips: Bool
    package let dualStack: Bool
    package let sts: Given?
    package let s3: Given?

    package init(environment: AWSEnvironment, profiles: SharedProfiles) {
        func isTrue(_ variable: String, _ property: String) -> Bool {
            environment[variable].map { _ in environment.isTrue(variable) }
                ?? (profiles.property(property)?.lowercased() == "true")
        }
        fips = isTrue("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint")
        dualStack = isTrue("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint")
        let isIgnored = isTrue("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "ignore_configured_endpoint_urls")
        func given(_ service: String) -> Given? {
            guard !isIgnored else { return nil }
            for variable in ["AWS_ENDPOINT_URL_\(service.uppercased())", "AWS_ENDPOINT_URL"] {
                if let url = environment[variable] { return Given(url: url, place: variable) }
            }
            let place = "profile \(profiles.chosen), endpoint_url"
            return (profiles.property("endpoint_url", ofService: service) ?? profiles.property("endpoint_url"))
                .map { Given(url: $0, place: place) }
        }
        sts = given("sts")
        s3 = given("s3")
    }
}
