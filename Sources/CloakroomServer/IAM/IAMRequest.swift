/// A request to AWS: who does what with which resource, and what else IAM knows of it.
struct IAMRequest: Sendable, Equatable {
    /// Such as `s3:GetObject`.
    var action: String
    var resource: String
    /// The ARN of the caller; only trust policies look at it.
    var principal = ""
    /// Condition keys in lower case, such as `s3:prefix`, each with its values.
    private(set) var context: [String: [String]] = [:]

    init(_ action: String, _ resource: String, principal: String = "", context: [String: [String]] = [:]) {
        self.action = action
        self.resource = resource
        self.principal = principal
        for (key, values) in context { self.context[key.lowercased()] = values }
    }
}

/// What policies say to a request.
enum IAMDecision: Sendable, Equatable {
    case allowed
    /// No statement speaks of it.
    case notAllowed
    /// A statement forbids it, whatever others allow.
    case denied
}
