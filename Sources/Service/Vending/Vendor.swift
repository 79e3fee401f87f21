package import AWS
package import Loop

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Vends: gets a subject the credentials its tier and id allow, from STS or from those it already has.
@LoopActor
package final class Vendor {
    private let sts: STSClient
    private let settings: Settings.Vending
    private let requestDeadline: Duration
    private let metrics: Metrics
    private let now: @Sendable () -> Date
    private let cache: CredentialCache?

    package init(
        sts: STSClient, settings: Settings.Vending, requestDeadline: Duration, metrics: Metrics,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.sts = sts
        self.settings = settings
        self.requestDeadline = requestDeadline
        self.metrics = metrics
        self.now = now
        cache =
            settings.credentialCache.enabled
            ? CredentialCache(capacity: settings.credentialCache.maximumEntries, now: now) : nil
    }

    package func credentials(for subject: Subject) async throws(STSError) -> VendedCredentials {
        guard let cache else {
            metrics.lookedUp(.off)
            return try await assume(for: subject)
        }
        let key = CredentialCache.Key(user: subject.userID, tier: tier(of: subject))
        if let known = cache.fresh(key) {
            metrics.lookedUp(.hit)
            return known
        }
        let (result, outcome) = await cache.credentials(key) { [self] in
            do throws(STSError) { return .success(try await assume(for: subject)) } catch { return .failure(error) }
        }
        metrics.lookedUp(outcome)
        return try result.get()
    }

    private func tier(of subject: Subject) -> String { subject.tier ?? settings.defaultTier }

    private func assume(for subject: Subject) async throws(STSError) -> VendedCredentials {
        let issued = now()
        let name = SessionName.make(userID: subject.userID.text, at: issued)
        let request = AssumeRole(
            roleARN: settings.roleARN, sessionName: name, duration: settings.lifetime,
            policy: settings.policy.text(for: subject.userID),
            tags: [
                .init(key: "UserId", value: subject.userID.text),
                .init(key: "SubscriptionTier", value: tier(of: subject)),
            ],
            externalID: settings.externalID)
        let role = try await sts.assumeRole(request, deadline: .now + requestDeadline)
        return VendedCredentials(role: role, sessionName: name, issued: issued)
    }
}
