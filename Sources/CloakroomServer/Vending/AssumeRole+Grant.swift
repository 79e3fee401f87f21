package import CloakroomAWS

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AssumeRole {
    /// The session that a user is granted: requested so by workers, and by the doctor to see whether they may.
    ///
    /// - Parameter windowStart: from when on the windows of its policy count, by AWS' clock; `nil` for `time`.
    package init(_ grant: Grant, for user: UserID, _ role: SessionRole, at time: Date, windowStart: Date? = nil) {
        self.init(
            roleARN: role.arn, sessionName: SessionName.make(userID: user.text, at: time),
            duration: grant.lifetime(at: time), policy: grant.policy(for: user, at: windowStart ?? time),
            tags: grant.tags(for: user), externalID: role.externalID)
    }
}
