import CloakroomHTTP

extension Settings.Limit {
    /// An element of `RateLimit-Policy`, such as `"renew";q=10;w=3600`, or `"renewKeys";q=1000;w=3600;qu="keys"`.
    func policy(named name: RateLimitName) -> String { policy(name.rawValue, quota, name) }

    /// The same of the window of all devices of a user, such as `"renewUser";q=40;w=3600`.
    func userPolicy(named name: RateLimitName) -> String { policy(name.ofUser, userQuota, name) }

    private func policy(_ text: String, _ quota: Int, _ name: RateLimitName) -> String {
        let unit = name.unit.map { ";qu=\"\($0)\"" } ?? ""
        return "\"\(text)\";q=\(quota);w=\(window.components.seconds)\(unit)"
    }
}

extension HeaderFields {
    /// Adds `RateLimit-Policy` and `RateLimit`, a list each (draft-ietf-httpapi-ratelimit-headers), and `Retry-After`
    /// on a refusal.
    mutating func add(_ terms: RateLimitPolicy, _ decision: RateLimitDecision) {
        if decision.verdict != .closed {
            // The fields of most responses are everybody's until here: they are copied once.
            reserve(fields: count + 3, bytes: text.count + terms.policyField.text.count + Self.rateLimitBytes)
            add(terms.policyField)
            add("RateLimit", addingCapacity: Self.rateLimitBytes) { text in
                text.append(decision.requests, terms.label)
                if let quantity = decision.quantity { text.append(next: quantity, terms.quantityLabel) }
                text.append(next: decision.userRequests, terms.userLabel)
                if let quantity = decision.userQuantity { text.append(next: quantity, terms.userQuantityLabel) }
            }
        }
        if !decision.isAllowed { add("Retry-After", String(Swift.max(1, decision.wait.wholeSeconds))) }
    }

    /// Four windows of at most 72 bytes, and the name.
    private static let rateLimitBytes = 320
}

extension OutputSpan<UInt8> {
    fileprivate mutating func append(next window: RateLimitDecision.Window, _ label: [UInt8]) {
        append(UInt8(ascii: ","))
        append(UInt8(ascii: " "))
        append(window, label)
    }

    /// Writes an element of `RateLimit`, such as `"renew";r=9;t=3600`: at most 70 bytes.
    fileprivate mutating func append(_ window: RateLimitDecision.Window, _ label: [UInt8]) {
        let label = label[...]
        append(copying: label.span)
        append(decimal: window.remaining)
        append(UInt8(ascii: ";"))
        append(UInt8(ascii: "t"))
        append(UInt8(ascii: "="))
        append(decimal: window.left.wholeSeconds)
    }
}
