/// Something about a bucket's lifecycle that is not as it should be.
package struct LifecycleFinding: Sendable, Equatable {
    package enum Severity: String, Sendable {
        /// A promise is broken: objects go early, or stay for ever.
        case error
        /// It costs money or time, and nothing is lost.
        case warning
    }

    package enum Code: String, Sendable, CaseIterable {
        case noExpiration = "no_expiration"
        case filtered
        case disabled
        case tooShort = "too_short"
        case tooLong = "too_long"
        case overlap
        case expiresSomeEarly = "expires_some_early"
        case date
        case transition
        case archives
        case noncurrentStay = "noncurrent_stay"
        case partsStay = "parts_stay"
        case userFolders = "user_folders"
        case releasedStay = "released_stay"
        case notUnderstood = "not_understood"
    }

    package let severity: Severity
    package let code: Code
    /// The rule it is about; `nil` for the bucket.
    package let rule: String?
    package let text: String
    /// What to do about it.
    package let advice: String

    package init(_ severity: Severity, _ code: Code, rule: String? = nil, _ text: String, advice: String) {
        self.severity = severity
        self.code = code
        self.rule = rule
        self.text = text
        self.advice = advice
    }
}
