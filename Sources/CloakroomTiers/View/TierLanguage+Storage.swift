extension TierLanguage {
    /// Such as "1.2 GB of 17.4 GB on this device".
    public func text(of bar: UsageBar) -> String {
        text(
            bar.kind == .library ? .usageOfLibrary : .usageOfQuota, bytes(bar.usedBytes), bytes(bar.totalBytes))
    }

    /// Such as "30 days (recommended)".
    public func text(of period: RetentionPolicy.Period) -> String {
        guard let days = period.days else { return text(.keepForever) }
        return text(period == .month ? .keepRecommendedDays : .keepDays, number(days), count: days)
    }

    /// What the settings say of a task: the question before it, how far it is, what came of it; `nil` for none.
    public func text(of task: StorageTask) -> String? {
        switch task {
        case .none: nil
        case .counting: text(.loading)
        case .confirmFreeing(let report): preview(report)
        case .freed(let report): outcome(report)
        case .confirmDownload(let plan): question(plan)
        case .downloaded(let report): outcome(report)
        case .confirmAccount(let change): question(change)
        case .confirmRemoval(let device): "\(text(of: device)). \(text(.removeDeviceQuestion))"
        case .freeing(let count), .downloading(let count):
            count.total > 0 ? text(.progress, number(count.done), photos(count.total)) : text(.loading)
        }
    }

    /// What is wrong.
    public func title(of alarm: TierAlarm) -> String {
        let key: TierText =
            switch alarm.kind {
            case .missing: .alarmMissing
            case .expiring: .alarmExpiring
            case .archived: .alarmArchived
            case .changed: .alarmChanged
            case .accountChanged: .alarmAccountChanged
            case .dismissed: .alarmDismissed
            }
        return text(key, photos(alarm.photoCount), count: alarm.photoCount)
    }

    /// What the user can do about it.
    public func action(for alarm: TierAlarm) -> String {
        let key: TierText =
            switch alarm.kind {
            case .missing: .alarmMissingAction
            case .expiring: .alarmExpiringAction
            case .archived: .alarmArchivedAction
            case .changed: .alarmChangedAction
            case .accountChanged: .alarmAccountChangedAction
            case .dismissed: .alarmDismissedAction
            }
        return text(key)
    }

    /// Such as "Last seen 24 December 2025".
    public func text(of device: PhotoDevice) -> String {
        device.isThisOne ? text(.thisDevice) : text(.deviceSeen, day(device.lastPublished))
    }

    /// Why removed photos are not deleted in the cloud, and since when.
    public func text(of device: AbsentDevice) -> String {
        text(.deviceAbsent, day(device.lastPublished), day(device.since))
    }

    private func preview(_ report: TieringReport) -> String {
        // Nothing is transferred for a preview: the policy alone does not allow it.
        if report.stoppedBy?.code == .notAllowedNow { return text(.freeSpaceForever) }
        if !report.alarms.isEmpty { return "\(text(.freeSpaceNothing)) \(text(.failureAlarm))." }
        guard report.evicted > 0 else { return joined(text(.freeSpaceNothing), report) }
        return text(.freeSpaceQuestion, photos(report.evicted), bytes(report.evictedBytes), count: report.evicted)
    }

    private func outcome(_ report: TieringReport) -> String {
        joined(text(.freedSpace, photos(report.evicted), bytes(report.evictedBytes), count: report.evicted), report)
    }

    private func joined(_ first: String, _ report: TieringReport) -> String {
        let kept = report.kept > 0 ? text(.keptPhotos, photos(report.kept), count: report.kept) : nil
        let stopped = report.stoppedBy.map { text(.stoppedBecause, failure($0)) }
        return [first, kept, stopped].compactMap { $0 }.joined(separator: " ")
    }

    private func question(_ plan: DownloadPlan) -> String {
        if plan.photoCount == 0 { return text(.downloadNothing) }
        if let available = plan.availableBytes, !plan.hasRoom {
            return text(.downloadNoRoom, bytes(plan.byteCount), bytes(available))
        }
        return text(.downloadQuestion, photos(plan.photoCount), bytes(plan.byteCount), count: plan.photoCount)
    }

    private func question(_ change: AccountChange) -> String {
        let question = text(
            .acceptAccountQuestion, photos(change.photoCount), bytes(change.byteCount), count: change.photoCount)
        guard change.unreachableCount > 0 else { return question }
        let unreachable = text(
            .acceptAccountUnreachable, photos(change.unreachableCount), count: change.unreachableCount)
        return "\(question) \(unreachable)"
    }

    private func outcome(_ report: DownloadReport) -> String {
        let done = text(.downloaded, photos(report.restored), bytes(report.restoredBytes), count: report.restored)
        let missing = report.missing > 0 ? text(.downloadMissing, photos(report.missing), count: report.missing) : nil
        let stopped = report.stoppedBy.map { text(.stoppedBecause, failure($0)) }
        return [done, missing, stopped].compactMap { $0 }.joined(separator: " ")
    }
}
