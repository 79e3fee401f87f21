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

/// One rule of a bucket's lifecycle configuration: the XML as it came, and what we read in it.
///
/// Whatever is not understood stays in it, so that writing a configuration back loses nothing.
/// Source: S3 API Reference, LifecycleRule.
package struct LifecycleRule: Sendable, Equatable {
    /// Which objects a rule is for: all conditions hold.
    package struct Filter: Sendable, Equatable {
        package struct Tag: Sendable, Equatable {
            package let key: String
            package let value: String

            package init(key: String, value: String) {
                self.key = key
                self.value = value
            }
        }

        /// Empty for any.
        package var prefix: String
        package var tags: [Tag]
        /// In bytes, itself excluded.
        package var sizeGreaterThan: Int?
        package var sizeLessThan: Int?
        /// Names of conditions that we do not know.
        package var unknown: [String]

        package init(
            prefix: String = "", tags: [Tag] = [], sizeGreaterThan: Int? = nil, sizeLessThan: Int? = nil,
            unknown: [String] = []
        ) {
            self.prefix = prefix
            self.tags = tags
            self.sizeGreaterThan = sizeGreaterThan
            self.sizeLessThan = sizeLessThan
            self.unknown = unknown
        }

        package var isEverything: Bool { self == Filter() }
    }

    package enum Expiration: Sendable, Equatable {
        /// So many days after an object was last written.
        case days(Int)
        /// Everything, whenever written, from this day on; as S3 tells it.
        case date(String)
        /// Delete markers behind which no version is left.
        case deleteMarkers
    }

    package struct NoncurrentExpiration: Sendable, Equatable {
        /// After a newer version took a version's place.
        package let days: Int
        /// So many stay, whatever their age; `nil` for none.
        package let newerVersions: Int?

        package init(days: Int, newerVersions: Int?) {
            self.days = days
            self.newerVersions = newerVersions
        }
    }

    package struct Transition: Sendable, Equatable {
        package let storageClass: String
        /// `nil` for one at a date.
        package let days: Int?
        /// Whether it is for versions that are no longer the current ones.
        package let isOfNoncurrent: Bool

        package init(storageClass: String, days: Int?, isOfNoncurrent: Bool) {
            self.storageClass = storageClass
            self.days = days
            self.isOfNoncurrent = isOfNoncurrent
        }
    }

    package var xml: XMLNode

    package init(xml: XMLNode) { self.xml = xml }

    /// Empty when it has none.
    package var id: String { xml["ID"]?.text ?? "" }

    package var isEnabled: Bool { xml["Status"]?.text == "Enabled" }

    package var filter: Filter {
        var filter = Filter()
        // Before filters there were prefixes only; S3 still gives such rules back as they were put.
        if let prefix = xml["Prefix"] { filter.prefix = prefix.text }
        for condition in xml["Filter"]?.elements ?? [] {
            if condition.name == "And" {
                condition.elements.forEach { filter.add($0) }
            } else {
                filter.add(condition)
            }
        }
        return filter
    }

    package var expiration: Expiration? {
        guard let expiration = xml["Expiration"] else { return nil }
        if let days = expiration.number("Days") { return .days(days) }
        if let date = expiration["Date"] { return .date(date.text) }
        return expiration["ExpiredObjectDeleteMarker"]?.text == "true" ? .deleteMarkers : nil
    }

    /// The days of an expiration by age.
    package var expirationDays: Int? {
        if case .days(let days) = expiration { days } else { nil }
    }

    package var noncurrentExpiration: NoncurrentExpiration? {
        guard let expiration = xml["NoncurrentVersionExpiration"], let days = expiration.number("NoncurrentDays") else {
            return nil
        }
        return NoncurrentExpiration(days: days, newerVersions: expiration.number("NewerNoncurrentVersions"))
    }

    /// Days after a multipart upload began.
    package var abortMultipartDays: Int? { xml["AbortIncompleteMultipartUpload"]?.number("DaysAfterInitiation") }

    package var transitions: [Transition] {
        xml.elements.compactMap { element in
            switch element.name {
            case "Transition":
                Transition(
                    storageClass: element["StorageClass"]?.text ?? "", days: element.number("Days"),
                    isOfNoncurrent: false)
            case "NoncurrentVersionTransition":
                Transition(
                    storageClass: element["StorageClass"]?.text ?? "", days: element.number("NoncurrentDays"),
                    isOfNoncurrent: true)
            default: nil
            }
        }
    }

    /// What stands in the rule that we cannot read, by its name.
    package var unknown: [String] {
        let strange = xml.elements.filter { element in
            switch element.name {
            case "Expiration": expiration == nil
            case "NoncurrentVersionExpiration": noncurrentExpiration == nil
            case "AbortIncompleteMultipartUpload": abortMultipartDays == nil
            default: !Self.knownElements.contains(element.name)
            }
        }
        return strange.map(\.name) + filter.unknown
    }

    private static let knownElements: Set<String> = [
        "ID", "Status", "Prefix", "Filter", "Transition", "NoncurrentVersionTransition",
    ]
}

extension LifecycleRule.Filter {
    fileprivate mutating func add(_ condition: XMLNode) {
        switch condition.name {
        case "Prefix": prefix = condition.text
        case "Tag": tags.append(Tag(key: condition["Key"]?.text ?? "", value: condition["Value"]?.text ?? ""))
        case "ObjectSizeGreaterThan" where size(condition) != nil: sizeGreaterThan = size(condition)
        case "ObjectSizeLessThan" where size(condition) != nil: sizeLessThan = size(condition)
        default: unknown.append(condition.name)
        }
    }

    private func size(_ condition: XMLNode) -> Int? { StoredNumber.byteCount(condition.text) }
}

extension XMLNode {
    /// A positive integer of 32 bits; everything else is nothing that S3 would write.
    fileprivate func number(_ name: String) -> Int? {
        self[name].flatMap { StoredNumber.number($0.text, in: 1...Int(Int32.max)) }
    }
}
