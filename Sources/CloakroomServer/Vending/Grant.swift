package import CloakroomAWS
import CloakroomJSON
package import CloakroomWire

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What is requested of STS for one subject: never more than its tier allows, less if the request wants less.
package struct Grant: Sendable, Hashable {
    package let scope: Scope
    package let lifetime: Duration
    /// The tier the session is tagged with.
    package let tier: String
    /// Where the request comes from; set only where the scope's policy names it.
    package var clientAddress: String?
    /// What is opened of other users' folders.
    package var shared = SharedFolders.none

    package init(scope: Scope, lifetime: Duration, tier: String) {
        self.scope = scope
        self.lifetime = lifetime
        self.tier = tier
    }

    /// The session's tags, which the role's policy and CloudTrail see.
    package func tags(for user: UserID) -> [AssumeRole.Tag] { Self.tags(for: user, tier: tier) + shared.tags }

    static func tags(for user: UserID, tier: String) -> [AssumeRole.Tag] {
        [.init(key: "UserId", value: user.text), .init(key: "SubscriptionTier", value: tier)]
    }

    /// The session policy in JSON, minified.
    ///
    /// - Parameter time: of the request.
    package func policyText(for user: UserID, at time: Date) -> String {
        let circumstances = RequestCircumstances(address: clientAddress ?? "", time: time)
        return shared.added(to: scope.policy.text(for: user, in: circumstances))
    }

    /// The same, as IAM reads it.
    package func session(of user: UserID, at time: Date) -> IAMPolicy {
        guard let json = try? JSON(parsing: Array(policyText(for: user, at: time).utf8)),
            let policy = try? IAMPolicy(json)
        else { preconditionFailure("templates and shared folders are checked before they come into a policy") }
        return policy
    }

    /// The same, as it is sent to STS.
    func policy(for user: UserID, at time: Date) -> AssumeRole.Policy {
        isForOneRequest || !shared.isEmpty
            ? AssumeRole.Policy(policyText(for: user, at: time)) : scope.policy.asked(for: user)
    }

    /// Whether the credentials are for one request alone: neither another user nor a later request is given them.
    var isForOneRequest: Bool { scope.policy.differsByRequest }

    /// When credentials of this end that STS lets end later: nothing is said to work that does not.
    ///
    /// - Parameter windowStart: by AWS' clock, as the expiration.
    func end(of expiration: Date, windowStart: Date) -> Date {
        guard let window = scope.policy.window else { return expiration }
        return min(expiration, windowStart.addingTimeInterval(Double(window)))
    }

    /// How long a session is requested for; at least as long as STS takes.
    func lifetime(at time: Date) -> Duration {
        guard let end = shared.sessionEnd else { return lifetime }
        let seconds = Int(end.timeIntervalSince(time).rounded(.down))
        return min(lifetime, .seconds(max(seconds, Self.shortestLifetime)))
    }

    /// Of the session that this leads to.
    package func packedSize(for user: UserID) -> PackedSize {
        PackedSize(policy: longestPolicyText(for: user), tags: tags(for: user))
    }

    private func longestPolicyText(for user: UserID) -> String {
        shared.added(to: scope.policy.text(for: user, in: .longest))
    }

    /// Whether STS takes the policy and the tags, as far as that is known beforehand.
    func fits(_ user: UserID) -> Bool {
        longestPolicyText(for: user).utf8.count <= SessionPolicy.maximumLength && packedSize(for: user).percent <= 100
    }
}

/// Why a request for less than the tier's is refused.
package enum GrantRefusal: Error, Sendable, Equatable {
    /// There is no such scope, or it allows something that the tier's does not.
    case scope
    /// A longer or shorter life than can be had, in seconds.
    case lifetime(possible: ClosedRange<Int>)
}

extension Grant {
    /// STS API Reference, AssumeRole, DurationSeconds.
    static let shortestLifetime = 900

    /// This grant with as much taken from it as the request says.
    package func narrowed(by request: CredentialRequest, among scopes: Scopes) throws(GrantRefusal) -> Grant {
        var scope = scope
        if let name = request.scope {
            guard let asked = scopes[name], scopes.covers(scope, asked) else { throw .scope }
            scope = asked
        }
        var lifetime = lifetime
        if let seconds = request.lifetimeSeconds {
            let longest = Int(lifetime.components.seconds)
            let possible = min(Self.shortestLifetime, longest)...longest
            guard possible.contains(seconds) else { throw .lifetime(possible: possible) }
            lifetime = .seconds(seconds)
        }
        return Grant(scope: scope, lifetime: lifetime, tier: tier)
    }
}

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How much of the room that STS has for policies and tags a session takes.
///
/// STS compresses both into the session token and refuses with `PackedPolicyTooLarge` what does not fit; neither the
/// compression nor the room is published (AWS re:Post, "PackedPolicyTooLarge"). This estimates what deflate makes of
/// them, within a few bytes of zlib, and takes ``roomBytes`` for the room. Two reports with their policies agree with
/// that: 2,017 characters that deflate to 533 bytes were 118 % (apache/polaris#3243), and 736 characters of
/// 18 actions with three tags, about 313 bytes, were 82 %. So it is an estimate on the safe side, and no promise:
/// AssumeRole's response and CloudTrail tell the true share.
package struct PackedSize: Sendable, Equatable {
    /// The reports come to 380 and 450.
    static let roomBytes = 400

    /// Up to here it is for STS to say whether a policy fits that lets KMS be used: the larger of the two reports has room
    /// for 113 %, and without the statement the bucket could not be used at all.
    static let uncertainPercent = 125

    /// Of the room, rounded up; more than 100 is refused, with keys of KMS more than ``uncertainPercent``.
    package let percent: Int

    init(policy: String, tags: [AssumeRole.Tag]) {
        let text = policy + tags.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
        let bytes = Self.deflatedBytes(Array(text.utf8))
        percent = (bytes * 100 + Self.roomBytes - 1) / Self.roomBytes
    }

    /// Repetitions of four bytes and more cost a length and a distance, the rest by its frequencies, and the tables of
    /// both stand before them (RFC 1951).
    private static func deflatedBytes(_ bytes: [UInt8]) -> Int {
        let (headerBits, repetitionBits) = (45.0 * 8, 20.0)
        var counts = [Double](repeating: 0, count: 256)
        var repetitions = 0.0
        var index = 0
        while index < bytes.count {
            let length = longestRepetition(in: bytes, at: index)
            if length >= 4 {
                repetitions += 1
                index += length
            } else {
                counts[Int(bytes[index])] += 1
                index += 1
            }
        }
        let single = counts.reduce(0, +)
        let bits = counts.reduce(headerBits + repetitions * repetitionBits) { bits, count in
            count == 0 ? bits : bits - count * log2(count / single)
        }
        return Int((bits / 8).rounded(.up))
    }

    /// - Returns: how many bytes from here on stand somewhere before, too.
    private static func longestRepetition(in bytes: [UInt8], at index: Int) -> Int {
        var longest = 0
        for start in 0..<index where bytes[start] == bytes[index] {
            var length = 1
            while index + length < bytes.count, length < 258, bytes[start + length] == bytes[index + length] {
                length += 1
            }
            longest = max(longest, length)
        }
        return longest
    }
}
