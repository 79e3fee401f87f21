package import CloakroomAWS
package import CloakroomServer

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What is known of the probe object at one moment.
package struct ProbeObject: Sendable, Equatable {
    package var lastModified: Date?
    package var contentType: String?
    package var cacheControl: String?
    /// The value of its one user-defined field.
    package var note: String?
    /// `nil` when the store does not tell.
    package var tags: [String: String]?
    package var expiration: Date?

    package init(
        lastModified: Date?, contentType: String?, cacheControl: String?, note: String?, tags: [String: String]?,
        expiration: Date?
    ) {
        self.lastModified = lastModified
        self.contentType = contentType
        self.cacheControl = cacheControl
        self.note = note
        self.tags = tags
        self.expiration = expiration
    }
}

/// One renewal of the probe object.
package struct RenewalTrial: Sendable {
    package let mode: RenewalSettings.Mode
    package let outcome: Renewal.Outcome
    package let before: ProbeObject
    /// `nil` when it was not renewed.
    package let after: ProbeObject?

    package init(mode: RenewalSettings.Mode, outcome: Renewal.Outcome, before: ProbeObject, after: ProbeObject?) {
        self.mode = mode
        self.outcome = outcome
        self.before = before
        self.after = after
    }

    var works: Bool {
        if case .renewed = outcome { losses.isEmpty } else { false }
    }

    /// What a renewal removed.
    var losses: [String] {
        guard let after else { return [] }
        var losses: [String] = []
        if let then = before.lastModified, let now = after.lastModified, now <= then {
            losses.append("its date, which did not move")
        }
        if after.contentType != before.contentType { losses.append("its content type") }
        if after.cacheControl != before.cacheControl { losses.append("its cache control") }
        if after.note != before.note { losses.append("its metadata") }
        if after.tags != before.tags { losses.append("its tags") }
        return losses
    }
}

/// Checks how objects can be renewed here.
package struct RenewalFindings {
    private let trials: [RenewalTrial]
    private let settings: Settings.Renewal
    private let check = CheckName.renewal

    package init(_ trials: [RenewalTrial], _ settings: Settings.Renewal) {
        self.trials = trials
        self.settings = settings
    }

    package var all: [Finding] {
        let lossy = trials.filter { !$0.losses.isEmpty && isUsed($0.mode) }.map(lost)
        return lossy + [ways, expiration].compactMap(\.self)
    }

    /// Whether a worker would renew so.
    private func isUsed(_ mode: RenewalSettings.Mode) -> Bool {
        mode == (settings.mode == .auto ? trials.first { Self.isTaken($0.outcome) }?.mode : settings.mode)
    }

    private static func isTaken(_ outcome: Renewal.Outcome) -> Bool {
        if case .renewed = outcome { true } else { false }
    }

    private func lost(_ trial: RenewalTrial) -> Finding {
        check.error(
            "renewing by \(trial.mode.rawValue) takes from an object \(trial.losses.joined(separator: ", "))",
            why: "a renewal must change nothing but the object's date",
            advice: trial.mode == .copy
                ? "set renewal.mode: \"replace\"" : "use another store for assets that have what is lost")
    }

    private var ways: Finding? {
        let working = trials.filter(\.works).map(\.mode.rawValue)
        let used = trials.contains { isUsed($0.mode) && $0.works }
        if used {
            let refused = trials.filter { !$0.works }.map { ", by \($0.mode.rawValue) not" }.joined()
            return check.ok(
                "objects can be renewed by \(working.joined(separator: " and by "))\(refused); date, type, metadata and tags are as they should be"
            )
        }
        guard trials.allSatisfy({ !isUsed($0.mode) || $0.losses.isEmpty }), let trial = trials.first else { return nil }
        return check.error(
            working.isEmpty
                ? "no way of renewing works: \(trials.map { "\($0.mode.rawValue): \(Self.words($0.outcome))" }.joined(separator: ", "))"
                : "renewal.mode is \(settings.mode.rawValue), which this store refuses",
            why: "assets that are in use will end with the others",
            advice: working.isEmpty ? Self.advice(trial.outcome) : "set renewal.mode: \"auto\"")
    }

    static func words(_ outcome: Renewal.Outcome) -> String {
        switch outcome {
        case .renewed: "renewed"
        case .recentlyWritten: "said to be fresh"
        case .notFound: "said to be gone"
        case .archived: "archived"
        case .invalidKey: "invalid key"
        case .unrenewableObject(let code), .accessDenied(let code), .refused(let code), .misconfigured(let code),
            .unavailable(_, let code):
            code
        }
    }

    private static func advice(_ outcome: Renewal.Outcome) -> String {
        switch outcome {
        case .accessDenied:
            "allow s3:GetObject, s3:PutObject, s3:GetObjectTagging and s3:PutObjectTagging: deploy/iam/worker-policy.json"
        case .renewed, .recentlyWritten, .notFound, .archived, .invalidKey, .unrenewableObject, .refused,
            .misconfigured,
            .unavailable:
            "look up the code in the store's manual; see also the findings about the bucket"
        }
    }

    /// Rounded up to midnight UTC, so up to a day later (S3 User Guide, "Lifecycle configuration elements").
    private var expiration: Finding? {
        guard let trial = trials.first(where: { $0.works && isUsed($0.mode) }), let after = trial.after,
            let written = after.lastModified
        else { return nil }
        guard let end = after.expiration else {
            guard let days = settings.retentionDays else {
                return check.ok("the store names no end of an object, as renewal.retentionDays: null wants it")
            }
            return check.skipped(
                "the store does not say when an object ends (x-amz-expiration); workers say \(days) days")
        }
        let real = Int((end.timeIntervalSince(written) / 86_400).rounded(.down))
        guard let days = settings.retentionDays else {
            return check.error(
                "the store ends an object after \(real) days, but renewal.retentionDays is null: nothing is to expire",
                why: "assets are lost that were to stay",
                advice: "remove the rule: cloakroom lifecycle apply; or set renewal.retentionDays: \(real)")
        }
        guard real != days else { return check.ok("the store says itself that an object ends after \(days) days") }
        return check.error(
            "the store ends an object after \(real) days, renewal.retentionDays is \(days)",
            why: "apps that count on the one lose assets by the other",
            advice: "set renewal.retentionDays: \(real), or fix the rule: cloakroom lifecycle apply")
    }
}
