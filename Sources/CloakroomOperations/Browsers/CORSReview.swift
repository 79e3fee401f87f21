package import CloakroomAWS
package import CloakroomServer

/// Something about a bucket's rules for web pages that is not as `web.origins` has it.
package struct CORSFinding: Sendable, Equatable {
    package enum Severity: String, Sendable {
        /// A page cannot upload or read.
        case error
        /// Nothing fails that the service's own clients need.
        case warning
    }

    package enum Code: String, Sendable, CaseIterable {
        case notPermitted = "not_permitted"
        case fieldsNotPermitted = "fields_not_permitted"
        case noETag = "no_etag"
        case notExposed = "not_exposed"
        case formerOrigin = "former_origin"
    }

    package let severity: Severity
    package let code: Code
    package let text: String
    /// What to do about it.
    package let advice: String
}

/// A bucket's rules for web pages, held against `web.origins`: by what a store makes of them, whichever rules say it.
package struct CORSReview: Sendable, Equatable {
    package let findings: [CORSFinding]
    package var isGood: Bool { findings.allSatisfy { $0.severity == .warning } }

    package init(_ configuration: CORSConfiguration, _ web: Settings.Web) {
        findings =
            Self.methods(configuration, web) + Self.fields(configuration, web) + Self.exposed(configuration, web)
            + Self.formerOrigins(configuration, web)
    }

    private static let advice = "run cloakroom cors apply"

    private static func methods(_ configuration: CORSConfiguration, _ web: Settings.Web) -> [CORSFinding] {
        grouped(web) { origin in BucketRule.methods.filter { configuration.rule(for: origin, $0) == nil } }
            .map { missing, origins in
                CORSFinding(
                    severity: .error, code: .notPermitted,
                    text: "pages of \(LifecycleCoverage.list(origins)) may not send \(missing.joined(separator: ", "))",
                    advice: advice)
            }
    }

    private static func fields(_ configuration: CORSConfiguration, _ web: Settings.Web) -> [CORSFinding] {
        grouped(web) { origin in
            BucketRule.sent.filter { field in rules(configuration, origin).contains { !$0.permits(header: field) } }
        }
        .map { missing, origins in
            CORSFinding(
                severity: .error, code: .fieldsNotPermitted,
                text: "pages of \(LifecycleCoverage.list(origins)) may not send the header fields "
                    + missing.joined(separator: ", "), advice: advice)
        }
    }

    private static func exposed(_ configuration: CORSConfiguration, _ web: Settings.Web) -> [CORSFinding] {
        grouped(web) { origin in
            BucketRule.exposed.filter { field in rules(configuration, origin).contains { !$0.exposes(field) } }
        }
        .map { missing, origins in
            let lacksETag = missing.contains("ETag")
            return CORSFinding(
                severity: lacksETag ? .error : .warning, code: lacksETag ? .noETag : .notExposed,
                text: "pages of \(LifecycleCoverage.list(origins)) cannot read \(missing.joined(separator: ", "))"
                    + (lacksETag ? ": they cannot complete multipart uploads" : ""), advice: advice)
        }
    }

    private static func formerOrigins(_ configuration: CORSConfiguration, _ web: Settings.Web) -> [CORSFinding] {
        let former = configuration.rules.filter(BucketRule.isOurs).flatMap(\.origins)
            .filter { !web.origins.contains($0) }
        guard !former.isEmpty else { return [] }
        return [
            CORSFinding(
                severity: .warning, code: .formerOrigin,
                text: "the rule \(BucketRule.id) is for pages of \(LifecycleCoverage.list(former)) too,"
                    + " which web.origins does not have", advice: advice)
        ]
    }

    /// Those that are taken for a page's requests.
    private static func rules(_ configuration: CORSConfiguration, _ origin: String) -> [CORSRule] {
        BucketRule.methods.compactMap { configuration.rule(for: origin, $0) }
    }

    /// Origins of which the same is missing, together.
    private static func grouped(
        _ web: Settings.Web, _ missing: (String) -> [String]
    ) -> [(missing: [String], origins: [String])] {
        var groups: [(missing: [String], origins: [String])] = []
        for origin in web.origins {
            let missing = missing(origin)
            guard !missing.isEmpty else { continue }
            if let index = groups.firstIndex(where: { $0.missing == missing }) {
                groups[index].origins.append(origin)
            } else {
                groups.append((missing, [origin]))
            }
        }
        return groups
    }
}
