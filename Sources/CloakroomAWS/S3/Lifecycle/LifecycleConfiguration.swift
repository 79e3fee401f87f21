import CloakroomHTTP

/// What a bucket does with its objects as they age.
///
/// S3 keeps one configuration a bucket, and putting one replaces it whole.
/// Source: S3 API Reference, PutBucketLifecycleConfiguration.
package struct LifecycleConfiguration: Sendable, Equatable {
    package var rules: [LifecycleRule]
    /// From what size on objects change their storage class, as S3 told it; `nil` when it did not. Part of the
    /// configuration: put without it, S3's default comes back.
    package var transitionMinimumSize: String?

    package init(rules: [LifecycleRule] = [], transitionMinimumSize: String? = nil) {
        self.rules = rules
        self.transitionMinimumSize = transitionMinimumSize
    }

    static let maximumRules = 1000
    static let minimumSizeField = "x-amz-transition-default-minimum-object-size"
    private static let limits = XMLReader.Limits(bytes: 1 << 20, elements: 1 << 16)

    /// - Throws: ``AWSError``. That the bucket has none is an empty configuration.
    init(_ response: UpstreamResponse) throws(AWSError) {
        let root = try? XMLReader.read(response.body, limits: Self.limits)
        if response.status == 200, let root, root.hasName("LifecycleConfiguration") {
            self.init(
                rules: root.children.filter { $0.hasName("Rule") }.map { LifecycleRule(xml: XMLNode($0)) },
                transitionMinimumSize: response.fields[Self.minimumSizeField])
            return
        }
        let error = root.flatMap { AWSErrorResponse($0) }
        guard response.status == 404, error?.code == "NoSuchLifecycleConfiguration" else {
            throw AWSError(response, error: error)
        }
        self.init()
    }

    /// As it is put. S3 takes prefixes of the old kind beside filters in no configuration, so they become filters.
    package var document: [UInt8] {
        let mixes = rules.contains { $0.xml["Filter"] != nil }
        return XMLNode("LifecycleConfiguration", rules.map { mixes ? $0.withFilter.xml : $0.xml })
            .document(namespace: S3Client.namespace)
    }
}

extension LifecycleRule {
    /// The same rule, its prefix in a filter.
    fileprivate var withFilter: LifecycleRule {
        guard xml["Filter"] == nil else { return self }
        let prefix = xml["Prefix"]
        let filter = XMLNode("Filter", prefix.map { $0.text.isEmpty ? [] : [$0] } ?? [])
        return LifecycleRule(xml: XMLNode("Rule", xml.elements.filter { $0.name != "Prefix" } + [filter]))
    }
}
