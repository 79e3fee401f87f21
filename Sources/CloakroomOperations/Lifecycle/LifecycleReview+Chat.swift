import CloakroomAWS
import CloakroomServer

/// Whether images of chats end as the settings say: those that are released, and those that never are.
extension LifecycleReview {
    static func chat(
        _ enabled: [LifecycleRule], _ versioning: BucketVersioning, _ terms: LifecycleTerms
    ) -> [LifecycleFinding] {
        guard let chat = terms.chat else { return [] }
        let whole = enabled.filter { $0.filter.isOfPrefixAlone && chat.prefix.hasPrefix($0.filter.prefix) }
        return [
            chatEnd(whole, chat), chatDates(enabled, chat), chatReleases(enabled, chat),
            chatVersions(whole, versioning, chat),
        ].compactMap(\.self)
    }

    private static func chatEnd(_ whole: [LifecycleRule], _ chat: ChatTerms) -> LifecycleFinding? {
        guard let days = whole.compactMap(\.expirationDays).min() else {
            return LifecycleFinding(
                .error, .noExpiration,
                "no rule expires images of chats (\(chat.prefix)): those that no app releases stay for ever",
                advice: apply)
        }
        guard days != chat.retentionDays else { return nil }
        return LifecycleFinding(
            .error, days < chat.retentionDays ? .tooShort : .tooLong,
            "images of chats (\(chat.prefix)) expire after \(LifecycleDescription.count(days)), not after the"
                + " \(chat.retentionDays) of uploads.chatRetentionDays",
            advice: "\(apply), or set uploads.chatRetentionDays to \(days)")
    }

    /// A date ends them all from then on, and so may a rule for some of them.
    private static func chatDates(_ enabled: [LifecycleRule], _ chat: ChatTerms) -> LifecycleFinding? {
        let wrong = enabled.first { rule in
            guard rule.filter.prefix.hasPrefix(chat.prefix) || chat.prefix.hasPrefix(rule.filter.prefix) else {
                return false
            }
            if case .date = rule.expiration { return true }
            guard !rule.filter.isOfReleased, !(rule.filter.isOfPrefixAlone && chat.prefix.hasPrefix(rule.filter.prefix))
            else { return false }
            return rule.expirationDays.map { $0 < chat.retentionDays } ?? false
        }
        guard let wrong else { return nil }
        return LifecycleFinding(
            .error, .expiresSomeEarly, rule: wrong.name,
            "the rule \(wrong.name), for \(LifecycleDescription.objects(wrong.filter)), ends images of chats"
                + " (\(chat.prefix)) that were not released, before the \(chat.retentionDays) days",
            advice: "delete the rule")
    }

    private static func chatReleases(_ enabled: [LifecycleRule], _ chat: ChatTerms) -> LifecycleFinding? {
        let days = enabled.filter { $0.filter.isOfReleased && chat.prefix.hasPrefix($0.filter.prefix) }
            .compactMap(\.expirationDays).min()
        guard days != ReleaseTag.days else { return nil }
        guard chat.isTagged else {
            return LifecycleFinding(
                .warning, .releasedStay,
                "no rule of \(LifecycleDescription.count(ReleaseTag.days)) expires images of chats with the tag"
                    + " \(ReleaseTag.key)=\(ReleaseTag.value): those that were released with release.mode \"tag\" stay longer",
                advice: apply)
        }
        return LifecycleFinding(
            .error, .releasedStay,
            days.map { "images of chats that are released go after \($0) days, not after \(ReleaseTag.days)" }
                ?? "no rule expires images of chats with the tag \(ReleaseTag.key)=\(ReleaseTag.value): those that are"
                + " released stay as long as all others",
            advice: apply)
    }

    private static func chatVersions(
        _ whole: [LifecycleRule], _ versioning: BucketVersioning, _ chat: ChatTerms
    ) -> LifecycleFinding? {
        guard versioning != .never,
            !whole.contains(where: { $0.noncurrentExpiration.map { $0.newerVersions == nil } ?? false })
        else { return nil }
        return LifecycleFinding(
            .error, .noncurrentStay,
            "the bucket keeps versions, and no rule ends those of images of chats (\(chat.prefix)): what is released stays"
                + " for ever",
            advice: apply)
    }
}
