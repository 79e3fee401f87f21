import CloakroomJSON
package import CloakroomServer

extension Settings {
    /// Whether a token of some issuer may be for this user. Where all issuers map their subjects, each id is `u_` and a UUID.
    package func isIssued(_ user: UserID) -> Bool {
        user.looksMapped || tokens.issuers.contains { $0.subjects == .plain }
    }

    /// The user that tokens of a subject are for.
    ///
    /// - Parameter issuer: the claim `iss`; `nil` for the only issuer.
    /// - Returns: `nil` where there is no such issuer, and for several without a name.
    package func userID(ofSubject subject: String, issuer: String?) -> UserID? {
        let issuers = tokens.issuers.filter { issuer?.hasSameBytes(as: $0.name) ?? true }
        return issuers.count == 1 ? issuers[0].userID(of: subject) : nil
    }
}
