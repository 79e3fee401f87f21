package import AWS

/// What a deployment expects of its bucket's lifecycle.
package struct LifecycleTerms: Sendable, Equatable {
    /// Which objects it is for; empty for all.
    package var prefix: String
    /// Where assets lie, each beginning with `prefix`: what other rules do elsewhere breaks no promise.
    package var assets: [String]
    /// What workers promise as `expiresAt`.
    package var retentionDays: Int
    package var noncurrentDays: Int
    package var abortMultipartDays: Int

    /// - Parameter assets: `nil` for wherever the prefix is.
    package init(
        prefix: String = "", assets: [String]? = nil, retentionDays: Int, noncurrentDays: Int = 7,
        abortMultipartDays: Int = 7
    ) {
        self.prefix = prefix
        self.assets = assets ?? [prefix]
        self.retentionDays = retentionDays
        self.noncurrentDays = noncurrentDays
        self.abortMultipartDays = abortMultipartDays
    }

    package init(_ settings: Settings) {
        self.init(
            prefix: settings.lifecycle.prefix, assets: [settings.renewal.keyPrefix, settings.uploads.keyPrefix],
            retentionDays: Int(settings.renewal.retention.components.seconds / 86_400),
            noncurrentDays: settings.lifecycle.noncurrentDays,
            abortMultipartDays: settings.lifecycle.abortMultipartDays)
    }

    /// Whether a rule is for all that these terms are about.
    func isCovered(by filter: LifecycleRule.Filter) -> Bool {
        var rest = filter
        rest.prefix = ""
        return rest.isEverything && prefix.hasPrefix(filter.prefix)
    }

    /// In the words of a sentence: `every object`.
    var objects: String { prefix.isEmpty ? "every object" : "every object under \(prefix)" }

    /// The rules as they should be: one, and on a versioned bucket one more that tidies up.
    package func rules(_ versioning: BucketVersioning) -> [LifecycleRule] {
        let filter = XMLNode("Filter", prefix.isEmpty ? [] : [XMLNode("Prefix", prefix)])
        var main = [
            XMLNode("ID", "expire-after-\(retentionDays)-days"), filter, XMLNode("Status", "Enabled"),
            XMLNode("Expiration", [XMLNode("Days", String(retentionDays))]),
            XMLNode(
                "AbortIncompleteMultipartUpload", [XMLNode("DaysAfterInitiation", String(abortMultipartDays))]),
        ]
        guard versioning != .never else { return [LifecycleRule(xml: XMLNode("Rule", main))] }
        main.append(
            XMLNode("NoncurrentVersionExpiration", [XMLNode("NoncurrentDays", String(noncurrentDays))]))
        // S3 takes this beside no number of days, hence the second rule.
        let markers = [
            XMLNode("ID", "remove-expired-delete-markers"), filter, XMLNode("Status", "Enabled"),
            XMLNode("Expiration", [XMLNode("ExpiredObjectDeleteMarker", "true")]),
        ]
        return [main, markers].map { LifecycleRule(xml: XMLNode("Rule", $0)) }
    }
}
