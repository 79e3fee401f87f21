import CloakroomCrypto
import Foundation

/// The policy of an upload by HTML form.
///
/// Source: S3 API Reference, "Creating a POST policy" and "Authenticating requests in browser-based uploads";
/// LocalStack `test_post_object_policy_validation_size` (EntityTooLarge, EntityTooSmall),
/// `test_post_object_policy_conditions_validation_eq`, `…_starts_with`, `test_post_object_with_extra_fields`, validated
/// on AWS.
struct PostPolicy {
    let expiration: Double
    private let conditions: [Condition]

    private enum Condition {
        case equal(String, String)
        case begins(String, String)
        case size(Int, Int)
    }

    init(base64 text: String) throws(S3Error) {
        func invalid(_ why: String) -> S3Error {
            S3Error(400, "InvalidPolicyDocument", "Invalid Policy: \(why)")
        }
        guard let data = Data(base64Encoded: text),
            let object = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
        else { throw invalid("Invalid JSON.") }
        guard let moment = (object["expiration"] as? String).flatMap({ S3Timestamp(iso: $0) }) else {
            throw invalid("Invalid 'expiration' value")
        }
        guard let list = object["conditions"] as? [Any] else { throw invalid("Policy missing conditions.") }
        expiration = moment.seconds
        var conditions: [Condition] = []
        for item in list {
            if let pair = item as? [String: String] {
                conditions += pair.map { .equal($0.key.lowercased(), $0.value) }
            } else if let words = item as? [Any], words.count == 3, let verb = words[0] as? String {
                switch (verb.lowercased(), words[1], words[2]) {
                case ("eq", let name as String, let value as String):
                    conditions.append(.equal(Self.field(name), value))
                case ("starts-with", let name as String, let value as String):
                    conditions.append(.begins(Self.field(name), value))
                case ("content-length-range", let least, let most):
                    guard let least = Self.number(least), let most = Self.number(most) else {
                        throw invalid("Invalid content-length-range")
                    }
                    conditions.append(.size(least, most))
                default: throw invalid("Invalid Condition")
                }
            } else {
                throw invalid("Invalid Simple-Condition")
            }
        }
        self.conditions = conditions
    }

    /// - Parameter fields: those of the form, names in lower case.
    func check(_ fields: [String: String], bucket: String, size: Int, now: Double) throws(S3Error) {
        func refused(_ why: String) -> S3Error {
            S3Error(403, "AccessDenied", "Invalid according to Policy: \(why)")
        }
        guard now <= expiration else { throw refused("Policy expired.") }
        var values = fields
        values["bucket"] = bucket
        var named: Set<String> = ["policy", "x-amz-signature", "file"]
        for condition in conditions {
            switch condition {
            case .equal(let name, let value):
                named.insert(name)
                guard values[name] == value else {
                    throw refused("Policy Condition failed: [\"eq\", \"$\(name)\", \"\(value)\"]")
                }
            case .begins(let name, let value):
                named.insert(name)
                guard values[name]?.hasPrefix(value) == true else {
                    throw refused("Policy Condition failed: [\"starts-with\", \"$\(name)\", \"\(value)\"]")
                }
            case .size(let least, let most):
                guard size <= most else {
                    throw S3Error(
                        400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size",
                        details: [("ProposedSize", String(size)), ("MaxSizeAllowed", String(most))])
                }
                guard size >= least else {
                    throw S3Error(
                        400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size",
                        details: [("ProposedSize", String(size)), ("MinSizeAllowed", String(least))])
                }
            }
        }
        let extra = fields.keys.filter { !named.contains($0) && !$0.hasPrefix("x-ignore-") }.sorted()
        guard extra.isEmpty else { throw refused("Extra input fields: \(extra.joined(separator: ", "))") }
    }

    private static func field(_ name: String) -> String { String(name.drop { $0 == "$" }).lowercased() }

    private static func number(_ value: Any) -> Int? { value as? Int ?? (value as? String).flatMap { Int($0) } }
}
