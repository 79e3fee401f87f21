/// Why there is no endpoint for what the settings say.
package enum EndpointError: Error, Sendable, Equatable {
    /// A region becomes part of a host name; this one cannot.
    case invalidRegion
    case invalidBucket
    /// No `http` or `https` URL of scheme, host, port and path.
    case invalidURL
    /// A bucket with rules, and perhaps signatures, of its own: an access point, a directory bucket, Outposts.
    case unsupportedBucket
    /// The partition has no such endpoint.
    case noFIPS
    /// FIPS and dual stack name AWS's own hosts; a given endpoint is none of them.
    case variantOfCustomEndpoint
}

/// Where a service listens.
package struct Endpoint: Sendable, Equatable {
    package enum Scheme: String, Sendable {
        case http
        case https
    }

    package let scheme: Scheme
    /// As in `Host`: lower-case, the default port left out.
    package let host: String
    /// Stands before every path; percent-encoded, without a slash at its end.
    package let path: String
    /// What requests are signed for.
    package let signingRegion: String

    init(scheme: Scheme = .https, host: String, path: String = "", signingRegion: String) {
        self.scheme = scheme
        self.host = host
        self.path = path
        self.signingRegion = signingRegion
    }

    package var url: String { "\(scheme.rawValue)://\(host)\(path)" }

    /// Reads an endpoint from the settings, such as `http://127.0.0.1:18333`.
    package init(url: String, signingRegion: String) throws(EndpointError) {
        let parts = url.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let scheme = Scheme(rawValue: parts[0].lowercased()) else { throw .invalidURL }
        let slash = parts[1].firstIndex(of: "/") ?? parts[1].endIndex
        guard let host = Self.host(parts[1][..<slash], scheme: scheme) else { throw .invalidURL }
        var path = parts[1][slash...]
        while path.last == "/" { path.removeLast() }
        guard path.utf8.allSatisfy(Self.isPath) else { throw .invalidURL }
        self.init(scheme: scheme, host: host, path: String(path), signingRegion: signingRegion)
    }

    /// Whether the host is an address, to which no bucket can be prefixed.
    package var isAddress: Bool {
        if host.hasPrefix("[") { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }

    /// As in a URL, brackets of IPv6 included.
    var hostWithoutPort: String { host.hasPrefix("[") ? String(host.prefix { $0 != "]" } + "]") : String(name) }

    /// Whether the host is an address of this very machine.
    var isLoopback: Bool { isAddress && (hostWithoutPort == "[::1]" || name.hasPrefix("127.")) }

    private var name: Substring { host.prefix { $0 != ":" } }

    private static func host(_ authority: Substring, scheme: Scheme) -> String? {
        let text = authority.lowercased()
        var name = text[...]
        var port: Substring?
        if name.hasPrefix("[") {
            guard let end = name.firstIndex(of: "]") else { return nil }
            let address = name[name.index(after: name.startIndex)..<end]
            guard address.contains(":"), address.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
                return nil
            }
            let rest = name[name.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            port = rest.isEmpty ? nil : rest.dropFirst()
            name = name[...end]
        } else {
            if let colon = name.firstIndex(of: ":") {
                port = name[name.index(after: colon)...]
                name = name[..<colon]
            }
            guard !name.isEmpty, name.utf8.allSatisfy(isName) else { return nil }
        }
        guard let port else { return String(name) }
        guard let number = UInt16(port), number > 0, port.utf8.allSatisfy(isDigit) else { return nil }
        return number == (scheme == .http ? 80 : 443) ? String(name) : "\(name):\(number)"
    }

    private static func isName(_ byte: UInt8) -> Bool {
        isLowercase(byte) || isDigit(byte) || "-._".utf8.contains(byte)
    }

    private static func isPath(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "-._~/%".utf8.contains(byte)
    }
}

/// At most 63 lower- or upper-case letters, digits and inner hyphens (RFC 1123 §2.1).
func isDNSLabel(_ text: Substring) -> Bool {
    let bytes = text.utf8
    guard (1...63).contains(bytes.count), bytes.first != UInt8(ascii: "-"), bytes.last != UInt8(ascii: "-") else {
        return false
    }
    return bytes.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
}

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

/// A group of regions with its own accounts and its own names.
///
/// Source: botocore 1.44.5, `data/partitions.json`.
package struct Partition: Sendable, Equatable {
    /// As in an ARN.
    package let identifier: String
    /// What the names of its regions begin with.
    private let prefix: String
    package let suffix: String
    package let dualStackSuffix: String
    /// The region that signs for services without one.
    package let globalRegion: String

    package static let aws = Partition("aws", "", "amazonaws.com", "api.aws", "us-east-1")

    private static let others = [
        Partition("aws-cn", "cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn", "cn-northwest-1"),
        Partition("aws-us-gov", "us-gov-", "amazonaws.com", "api.aws", "us-gov-west-1"),
        Partition("aws-eusc", "eusc-", "amazonaws.eu", "api.amazonwebservices.eu", "eusc-de-east-1"),
        Partition("aws-iso", "us-iso-", "c2s.ic.gov", "api.aws.ic.gov", "us-iso-east-1"),
        Partition("aws-iso-b", "us-isob-", "sc2s.sgov.gov", "api.aws.scloud", "us-isob-east-1"),
        Partition("aws-iso-e", "eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk", "eu-isoe-west-1"),
        Partition("aws-iso-f", "us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov", "us-isof-south-1"),
    ]

    /// The partition of a region; ``aws`` for names that no other partition claims.
    package init(region: String) {
        let claims = Self.others.first { region.hasPrefix($0.prefix) || region == "\($0.identifier)-global" }
        self = claims ?? .aws
    }

    private init(
        _ identifier: String, _ prefix: String, _ suffix: String, _ dualStackSuffix: String, _ globalRegion: String
    ) {
        self.identifier = identifier
        self.prefix = prefix
        self.suffix = suffix
        self.dualStackSuffix = dualStackSuffix
        self.globalRegion = globalRegion
    }
}
