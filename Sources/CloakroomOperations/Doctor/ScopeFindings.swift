package import CloakroomAWS

/// What came of a probe.
package enum ProbeOutcome: Sendable, Equatable {
    case allowed
    case refused
    /// Neither yes nor no.
    case unclear(String)

    /// - Parameter fault: `nil` when it worked.
    package init(_ fault: AWSError?) {
        switch fault {
        case nil: self = .allowed
        case .some(let fault) where fault.status == 403: self = .refused
        // Who is told that there is nothing, or that a condition does not hold, was let through.
        case .some(let fault)
        where fault.code == "NoSuchKey" || fault.code == "NoSuchUpload" || fault.status == 412: self = .allowed
        case .some(let fault): self = .unclear(fault.words)
        }
    }
}

/// Checks whether vended credentials open what they should, and nothing else.
package enum ScopeFindings {
    private static let check = CheckName.scopes
    private static let maximum = 5

    /// - Parameters:
    ///   - wrote: whether objects were read and written, or lists alone requested.
    package static func all(_ scope: String, _ outcomes: [(probe: ScopeProbe, outcome: ProbeOutcome)], wrote: Bool)
        -> [Finding]
    {
        let wrong = outcomes.compactMap { finding(scope, $0.probe, $0.outcome) }
        guard wrong.isEmpty else { return Array(wrong.prefix(maximum)) }
        return [
            check.ok(
                "\(scope): \(outcomes.count) probes as they should be, \(outcomes.count { $0.outcome == .refused }) of them refused"
                    + (wrote ? "" : "; lists alone, because nothing may be written"))
        ]
    }

    /// - Parameter probe: of what another user shares.
    package static func shared(_ scope: String, _ probe: ScopeProbe, _ outcome: ProbeOutcome) -> Finding {
        guard outcome != .refused else {
            return check.error(
                "\(scope): \(probe.words) is refused (\(probe.remark))", why: "nothing that users share can be read",
                advice: "give the role deploy/iam/sharing-policy.json, or set vending.sharing to false")
        }
        return finding(scope, probe, outcome) ?? check.ok("\(scope): what another user shares can be listed")
    }

    private static func finding(_ scope: String, _ probe: ScopeProbe, _ outcome: ProbeOutcome) -> Finding? {
        switch outcome {
        case .allowed where !probe.isExpected:
            check.error(
                "\(scope): \(probe.words) is allowed (\(probe.remark))", why: "a user reaches what is not theirs",
                advice: "stop vending; see whether the store heeds session policies at all, and whether a bucket policy"
                    + " names sessions of the role")
        case .refused where probe.isExpected:
            check.error(
                "\(scope): \(probe.words) is refused (\(probe.remark))",
                why: "the scope promises it; a session has only what its role has, too",
                advice: roleAdvice)
        case .unclear(let words):
            check.warning(
                "\(scope): \(probe.words) gets \(words)", why: "whether it is allowed cannot be told",
                advice: "run the doctor again; look up the code in the store's manual")
        case .allowed, .refused: nil
        }
    }

    package static func notVended(_ scope: String, _ error: STSError) -> Finding {
        check.error(
            "\(scope): no credentials: \(words(error))", why: "users with this scope get none",
            advice: "see the findings about role")
    }

    private static func words(_ error: STSError) -> String {
        switch error {
        case .unavailable(_, let code), .unusable(let code): code
        case .refused(let status, let code): "\(code) (\(status))"
        case .cancelled: "not waited for"
        }
    }

    /// - Parameter fault: of the first object that could not be made.
    package static func notSeeded(_ scope: String, _ fault: AWSError) -> Finding {
        check.error(
            "\(scope): an object cannot be stored in the own folder: \(fault.words)",
            why: "the scope promises it; a session has only what its role has, too",
            advice: roleAdvice)
    }

    private static let roleAdvice =
        "allow it in the role's permissions: deploy/iam/session-role-policy.json; in a bucket under SSE-KMS name its keys in"
        + " vending.kmsKeyARNs, give the role deploy/iam/kms-policy.json, and see that the key's own policy leaves it to IAM"
}
