import Foundation

/// A bucket's lifecycle configuration, as far as it removes things, and what S3 refuses.
///
/// Sources: S3 API Reference, PutBucketLifecycleConfiguration and "Lifecycle configuration elements"; S3 User Guide,
/// "Expiring objects" (the end is the next midnight UTC after the days are over); LocalStack's
/// `test_put_bucket_lifecycle_conf_exc` (MalformedXML, InvalidArgument), validated on AWS; `x-amz-expiration`:
/// `test_bucket_lifecycle_object_size_rules` and the API Reference of HeadObject.
struct Lifecycle {
    struct Rule {
        var id: String
        var isEnabled: Bool
        var scope: Scope
        var days: Int?
        var noncurrentDays: Int?
        var abortDays: Int?
    }

    /// What a rule is for.
    struct Scope {
        var prefix = ""
        var tags: [S3Request.Pair] = []
        var largerThan: Int?
        var smallerThan: Int?

        /// - Parameter version: `nil` for what has neither tags nor a size yet.
        func holds(_ key: String, _ version: StoredVersion?) -> Bool {
            guard key.hasPrefix(prefix) else { return false }
            guard let version else { return tags.isEmpty && largerThan == nil && smallerThan == nil }
            return tags.allSatisfy(version.tags.contains) && version.size > largerThan ?? -1
                && version.size < smallerThan ?? Int.max
        }
    }

    /// As it came, for GET.
    let document: String
    let rules: [Rule]
    /// `x-amz-transition-default-minimum-object-size`, as it came with the document.
    var transitionMinimumSize = "all_storage_classes_128K"

    init(_ bytes: [UInt8]) throws(S3Error) {
        guard let root = XMLTree.read(bytes), root.name == "LifecycleConfiguration" else { throw .malformedXML }
        let elements = root.all("Rule")
        guard (1...1000).contains(elements.count), elements.count == root.children.count else { throw .malformedXML }
        var rules: [Rule] = []
        for element in elements { rules.append(try Self.rule(element, number: rules.count)) }
        guard Set(rules.map(\.id)).count == rules.count else {
            throw S3Error(400, "InvalidArgument", "Rule ID must be unique. Found same ID for more than one rule")
        }
        self.rules = rules
        document = String(decoding: bytes, as: UTF8.self)
    }

    private static func rule(_ element: XMLTree, number: Int) throws(S3Error) -> Rule {
        let known = [
            "ID", "Status", "Filter", "Prefix", "Expiration", "NoncurrentVersionExpiration",
            "AbortIncompleteMultipartUpload", "Transition", "NoncurrentVersionTransition",
        ]
        guard element.children.allSatisfy({ known.contains($0.name) }),
            let status = element.text("Status"), ["Enabled", "Disabled"].contains(status),
            // One of the two must say what the rule is for, and not both.
            (element["Filter"] == nil) != (element["Prefix"] == nil)
        else { throw .malformedXML }
        let actions = known.dropFirst(4).filter { element[$0] != nil }
        guard !actions.isEmpty else {
            throw S3Error(400, "InvalidRequest", "At least one action needs to be specified in a rule.")
        }
        let id = element.text("ID") ?? "scripted-rule-\(number)"
        guard id.count <= 255 else {
            throw S3Error(400, "InvalidArgument", "ID length should not exceed allowed limit of 255")
        }
        return Rule(
            id: id, isEnabled: status == "Enabled", scope: try scope(element),
            days: try days(element["Expiration"], "Days"),
            noncurrentDays: try days(element["NoncurrentVersionExpiration"], "NoncurrentDays"),
            abortDays: try days(element["AbortIncompleteMultipartUpload"], "DaysAfterInitiation"))
    }

    private static func scope(_ element: XMLTree) throws(S3Error) -> Scope {
        if let prefix = element["Prefix"]?.text { return Scope(prefix: prefix) }
        guard let filter = element["Filter"] else { throw .malformedXML }
        // More than one condition only inside And.
        guard filter.children.count <= 1 else { throw .malformedXML }
        let conditions = filter["And"]?.children ?? filter.children
        var scope = Scope()
        for condition in conditions {
            switch condition.name {
            case "Prefix": scope.prefix = condition.text
            case "Tag":
                scope.tags.append(.init(name: condition.text("Key") ?? "", value: condition.text("Value") ?? ""))
            case "ObjectSizeGreaterThan": scope.largerThan = Int(condition.text)
            case "ObjectSizeLessThan": scope.smallerThan = Int(condition.text)
            default: throw .malformedXML
            }
        }
        return scope
    }

    private static func days(_ action: XMLTree?, _ name: String) throws(S3Error) -> Int? {
        guard let action else { return nil }
        if name == "Days", action["ExpiredObjectDeleteMarker"] != nil || action["Date"] != nil {
            guard action[name] == nil else { throw .malformedXML }
            return nil
        }
        guard let text = action.text(name), let days = Int(text) else { throw .malformedXML }
        guard days > 0 else {
            throw S3Error(
                400, "InvalidArgument", "'\(name)' for \(action.name) action must be a positive integer")
        }
        return days
    }

    /// The rule that ends an object's life first, and when.
    func expiration(of key: String, _ version: StoredVersion, day: Double) -> (rule: String, at: Double)? {
        rules(for: key, version)
            .compactMap { rule in rule.days.map { (rule.id, Self.end(version.lastModified, days: $0, day: day)) } }
            .min { $0.1 < $1.1 }
    }

    func noncurrentEnd(of key: String, _ version: StoredVersion, since: Double, day: Double) -> Double? {
        rules(for: key, version)
            .compactMap { rule in rule.noncurrentDays.map { Self.end(since, days: $0, day: day) } }.min()
    }

    func abortEnd(of key: String, since: Double, day: Double) -> Double? {
        rules(for: key, nil).compactMap { rule in rule.abortDays.map { Self.end(since, days: $0, day: day) } }.min()
    }

    private func rules(for key: String, _ version: StoredVersion?) -> [Rule] {
        rules.filter { $0.isEnabled && $0.scope.holds(key, version) }
    }

    /// The midnight after so many days, whatever a day is.
    private static func end(_ start: Double, days: Int, day: Double) -> Double {
        ((start + Double(days) * day) / day).rounded(.up) * day
    }
}
