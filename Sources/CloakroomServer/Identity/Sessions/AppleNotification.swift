import CloakroomJOSE
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What Apple tells a server about one of its users.
///
/// Source: Apple, "Processing changes for Sign in with Apple accounts": a JWS with the issuer, audience and keys of
/// identity tokens, whose claim `events` is JSON in a string.
struct AppleNotification: Equatable {
    enum Event: String {
        case consentRevoked = "consent-revoked"
        case accountDeleted = "account-deleted"
        case emailEnabled = "email-enabled"
        case emailDisabled = "email-disabled"
        case unknown

        /// Apple's pages say `account-deleted`, its messages have been seen to say `account-delete`.
        init(_ text: String) { self = text == "account-delete" ? .accountDeleted : Event(rawValue: text) ?? .unknown }

        var endsAccess: Bool {
            switch self {
            case .consentRevoked, .accountDeleted: true
            case .emailEnabled, .emailDisabled, .unknown: false
            }
        }
    }

    let event: Event
    /// As in the identity tokens of the same person.
    let subject: String

    /// - Parameter claims: verified ones.
    init(_ claims: Claims) throws(IdentityRefusal) {
        guard let text = claims["events"]?.string,
            let fields = (try? JSON(parsing: Array(text.utf8), maximumDepth: 4))?.object,
            let type = fields["type"]?.string,
            let subject = fields["sub"]?.string, (1...255).contains(subject.utf8.count)
        else { throw .noEvents }
        event = Event(type)
        self.subject = subject
    }

    /// Apple repeats for days what got no 200; what is older was heard, or is no message of today's.
    private static let longestAge: TimeInterval = 7 * 86_400

    /// A notification need not have an `exp`; then it must say when it was made.
    static func checkTimes(_ claims: Claims, now: Date, leeway: Duration) throws(TokenError) {
        guard try claims.date("exp") == nil else {
            _ = try claims.checkTimes(now: now, leeway: leeway)
            return
        }
        guard let issue = try claims.date("iat") else { throw .unlimited }
        guard now.timeIntervalSince(issue) < longestAge else { throw .expired }
        guard issue.timeIntervalSince(now) <= leeway / .seconds(1) else { throw .issuedInTheFuture }
    }
}
