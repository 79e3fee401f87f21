package import CloakroomAWS
package import CloakroomServer

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The response of STS to a request for a session like a worker's.
package struct RoleObservations: Sendable {
    package var asked: Result<AssumedRole, STSError>
    /// What STS wrote besides its code.
    package var message: String?
    /// After a refusal: whether the same works without tags, and with the shortest lifetime.
    package var worksWithoutTags = false
    /// With the tags of every session, and without that of an owner who shares.
    package var worksWithoutSharing = false
    package var worksForFifteenMinutes = false

    package init(asked: Result<AssumedRole, STSError>, message: String? = nil) {
        self.asked = asked
        self.message = message
    }
}

/// Checks the role that users' sessions assume.
package struct RoleFindings {
    private let observations: RoleObservations
    private let role: SessionRole
    private let lifetime: Duration
    /// Whether our own credentials are a role's.
    private let isChained: Bool
    private let now: Date
    private let check = CheckName.role

    /// - Parameter lifetime: the longest of all tiers.
    package init(
        _ observations: RoleObservations, _ role: SessionRole, lifetime: Duration, isChained: Bool, now: Date
    ) {
        self.observations = observations
        self.role = role
        self.lifetime = lifetime
        self.isChained = isChained
        self.now = now
    }

    package var all: [Finding] {
        switch observations.asked {
        case .success(let assumed):
            [
                check.ok("\(role.arn) can be assumed, with tags and a session policy"), length(assumed),
                size(assumed),
            ]
            .compactMap(\.self)
        case .failure(let error): [refused(error)]
        }
    }

    private func length(_ role: AssumedRole) -> Finding {
        let asked = Int(lifetime.components.seconds)
        let got = Int(role.expiration.timeIntervalSince(now).rounded())
        guard got < asked - 60 else { return check.ok("sessions last the \(asked) s of the settings") }
        guard isChained else {
            return check.warning(
                "sessions last \(got) s, the settings say \(asked)", why: "apps request new ones earlier than planned",
                advice: "lower vending.lifetimeSeconds, or raise what the store allows")
        }
        return check.warning(
            "sessions last \(got) s, the settings say \(asked)",
            why: "the worker's own credentials are a role's, and AWS gives such a chain an hour at most",
            advice: "lower vending.lifetimeSeconds and the tiers' to 3600")
    }

    private func size(_ role: AssumedRole) -> Finding? {
        guard let percent = role.packedPolicySize, percent >= 80 else { return nil }
        return check.warning(
            "policy and tags fill \(percent) % of what STS takes", why: "a longer user id or tier may be refused",
            advice: "shorten the scope's template: see cloakroom policy show")
    }

    private func refused(_ error: STSError) -> Finding {
        let why = "nothing can be vended"
        switch error {
        case .unavailable(_, let code):
            return check.error(
                "STS gives no session: \(code)", why: why, advice: "see the findings about endpoints and worker")
        case .unusable(code: "ExpiresTooLate"):
            return check.error(
                "STS gives sessions that last longer than the \(Int(lifetime.components.seconds)) s they are requested for",
                why: why, advice: "use a store that keeps to DurationSeconds, or set its clock")
        case .unusable(let code):
            return check.error(
                "STS responds with what is no session: \(code)", why: why, advice: "use another STS: aws.stsEndpoint")
        case .cancelled: return check.skipped("STS was not waited for")
        case .refused(let status, let code):
            let said = [observations.message, "\(code) (\(status))"].compactMap(\.self).joined(separator: ": ")
            let (found, advice) = cause(code)
            return check.error("\(found); STS says \(said.prefix(300))", why: why, advice: advice)
        }
    }

    private func cause(_ code: String) -> (found: String, advice: String) {
        if ["PackedPolicyTooLarge", "MalformedPolicyDocument"].contains(code) {
            // Without tags there is more room for the policy: that tells nothing about tags.
            return ("the session policy is not accepted", "shorten or fix the scope's template: cloakroom policy show")
        }
        if observations.worksWithoutSharing {
            return (
                "\(role.arn) accepts no tags Shared1 to Shared4, which vending.sharing needs",
                "give it the trust policy deploy/iam/session-role-trust-sharing.json and deploy/iam/sharing-policy.json, or"
                    + " set vending.sharing to false"
            )
        }
        if observations.message?.contains("sts:TagSession") == true || observations.worksWithoutTags {
            return (
                "\(role.arn) accepts no tags",
                "allow sts:TagSession beside sts:AssumeRole, in the role's trust policy and in the worker's own:"
                    + " deploy/iam/session-role-trust.json"
            )
        }
        if observations.message?.contains("MaxSessionDuration") == true || observations.worksForFifteenMinutes {
            return (
                "\(role.arn) gives no session of \(lifetime.components.seconds) s",
                "raise the role's maximum session duration, or lower vending.lifetimeSeconds and the tiers'"
            )
        }
        switch code {
        case "AccessDenied":
            return (
                "\(role.arn) cannot be assumed",
                "name the worker in the role's trust policy, with vending.externalID if it requires one, and allow the"
                    + " worker sts:AssumeRole on it: deploy/iam"
            )
        default: return ("\(role.arn) cannot be assumed", "look up the code in the STS API Reference")
        }
    }
}
