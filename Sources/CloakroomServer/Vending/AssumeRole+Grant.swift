package import CloakroomAWS

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AssumeRole {
    /// The session that a user is granted: requested so by workers, and by the doctor to see whether they may.
    package init(_ grant: Grant, for user: UserID, _ role: SessionRole, at time: Date) {
        self.init(
            roleARN: role.arn, sessionName: SessionName.make(userID: user.text, at: time),
            duration: grant.lifetime(at: time), policy: grant.policy(for: user, at: time), tags: grant.tags(for: user),
            externalID: role.externalID)
    }
}
