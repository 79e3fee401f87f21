import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The denials of one user's sessions that `user revoke --apply` writes, role by role.
@LoopActor
struct UserDenials {
    let user: UserID
    /// Before which sessions count as revoked.
    let time: Date
    let records: UserRecords
    let revocation: Revocation
    let upstreams: Upstreams
    let line: UserCommandLine
    let deniesAll: Bool

    private var settings: Settings { line.settings }

    /// The roles of some accounts may be out of reach: sessions of the others are denied all the same.
    ///
    /// - Returns: whether all are; what are not is said.
    func areMade(in roles: [SessionRole]) async -> Bool {
        var areAll = true
        var deniesOthers = false
        var moved: Set<UserID> = []
        for role in roles {
            let (denial, isDone) = await denial(in: role)
            areAll = areAll && isDone
            guard let denial else { continue }
            if let everyone = denial.policy.everyone, everyone >= time { deniesOthers = true }
            moved.formUnion(denial.moved)
        }
        if deniesOthers {
            await dropOthers(nil)
        } else if !moved.isEmpty {
            Output.note(Self.sentence(ofMoved: moved.count))
            await dropOthers(moved)
        }
        return areAll
    }

    /// - Returns: `nil` where nothing was written for certain; whether all is well, else it is told.
    private func denial(in role: SessionRole) async -> (Revocation.Denial?, isDone: Bool) {
        let iam: IAMClient
        do {
            try await upstreams.credentials(of: role).require()
            iam = try upstreams.iam(of: role)
        } catch {
            _ = Output.fail(
                "vending is stopped, but sessions of the role \(role.arn) from before are not denied: \(error)\n"
                    + "Try again, or put on the role what revoke without --apply prints")
            return (nil, false)
        }
        do throws(Revocation.RevocationError) {
            let lead = try await lead(of: role)
            let denial = try await revocation.deny(
                user, before: time.addingTimeInterval(lead), role: role.nameInIAM, iam: iam, deniesAll: deniesAll,
                deadline: .now + .seconds(60))
            Output.note(Self.sentence(denial.policy, role))
            guard lead <= Revocation.largestSkew else {
                _ = Output.fail(
                    "AWS' clock is \(Int(lead)) seconds ahead of this host's: sessions are denied by AWS' clock, but tokens "
                        + "are refused by the other; set the clocks of this host and of Redis, and run this again")
                return (denial, false)
            }
            return (denial, true)
        } catch {
            _ = Output.fail(UserRevoke.sentence(error, of: user, role, line))
            // What may be denied is dropped now: the next run does not know of it.
            if case .unconfirmed(let denial, _) = error { return (denial, false) }
            return (nil, false)
        }
    }

    /// - Returns: by how many seconds AWS' clock is ahead.
    private func lead(of role: SessionRole) async throws(Revocation.RevocationError) -> TimeInterval {
        do throws(Revocation.RevocationError) {
            return try await revocation.verify(role, sts: upstreams.sts(of: role), deadline: .now + .seconds(30))
        } catch {
            // A store's IAM need have no accounts, nor its STS this request; IAM of AWS is at another place then.
            guard settings.aws.iamEndpoint != nil, case .unknownAccount(let fault) = error, fault.kind == .refused
            else { throw error }
            Output.note(
                "the STS of the role \(role.arn) does not say of which account the credentials are "
                    + "(\(UserRevoke.words(fault))): whether it is the role's was not compared")
            return 0
        }
    }

    static func sentence(_ policy: RevocationPolicy, _ role: SessionRole) -> String {
        let others = policy.everyone.map { ", and those of all users from before \(Timestamp($0).iso8601)" } ?? ""
        return "the policy \(RevocationPolicy.name) of the role \(role.arn) denies their older sessions (users it "
            + "names: \(policy.count))\(others); AWS may take minutes to heed it everywhere"
    }

    static func sentence(ofMoved count: Int) -> String {
        "the policy has no room for a time of each user: all share the latest, and sessions that \(count) of them may "
            + "have had since their own revocation are denied as well"
    }

    /// What workers keep for other users is denied as well, and would be handed out all the same.
    ///
    /// - Parameter users: `nil` for all.
    private func dropOthers(_ users: Set<UserID>?) async {
        // What they are vended until then is denied, too, and would be kept anew.
        let wait = time.timeIntervalSince(Date())
        if wait > 0 {
            let end = Timestamp(time).iso8601
            Output.note("waiting until \(end): what other users are vended before then is denied as well")
            try? await LoopActor.sleep(for: .seconds(wait))
        }
        do throws(UserRecordError) {
            let count: Int
            if let users {
                count = try await records.dropCredentials(of: users)
            } else {
                count = try await records.dropCredentials(of: nil)
            }
            let owners = users == nil ? "all users" : "these users"
            Output.note("\(count) credentials that workers kept in Redis for \(owners) are dropped")
        } catch {
            Output.note(
                "credentials that workers keep in Redis for other users are denied, but not dropped: "
                    + UserCommandLine.sentence(error, settings.redis))
        }
        Output.note(
            "each worker keeps credentials in its memory, too, which are denied now: replace the workers (SIGHUP to the "
                + "supervisor)")
    }
}
