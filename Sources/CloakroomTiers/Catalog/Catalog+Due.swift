import CloakroomSQLite
import Foundation

/// Which photos may leave the device.
struct DueRule: Sendable, Equatable {
    /// Added then or before; `nil` for photos of any age.
    var addedBefore: Date?
    /// Not viewed since; a photo that was never viewed is not viewed since any date.
    var viewedBefore: Date

    /// With the table `photo`; what is bound comes from ``values``.
    ///
    /// A photo without a thumbnail never leaves, nor does a pinned one, nor one whose deletion in the tier may be on its
    /// way: no proof says what that leaves there. The state is not part of it.
    static let condition = """
        pinned = 0 AND added_at <= ? AND (viewed_at IS NULL OR viewed_at <= ?)
        AND EXISTS (SELECT 1 FROM thumbnail WHERE photo = photo.id AND length(bytes) > 0)
        AND NOT EXISTS (SELECT 1 FROM sent_deletion WHERE sent_deletion.md5 = photo.md5)
        """

    var values: [SQLiteValue] {
        [.integer(addedBefore?.milliseconds ?? .max), .integer(viewedBefore.milliseconds)]
    }
}

extension RetentionPolicy {
    /// What is due by age; `nil` for ever.
    func rule(at date: Date) -> DueRule? {
        period.days.map { days in
            DueRule(addedBefore: date - Double(days) * 86_400, viewedBefore: Self.viewLimit(at: date))
        }
    }

    /// Photos that were added then or before are uploaded; `nil` for all of them.
    func uploadLimit(at date: Date) -> Date? {
        switch uploadTime {
        case .whenAdded: nil
        case .whenDue: rule(at: date)?.addedBefore
        }
    }

    /// What may leave when the user wants room.
    static func freeingRule(at date: Date) -> DueRule {
        DueRule(addedBefore: nil, viewedBefore: viewLimit(at: date))
    }

    private static func viewLimit(at date: Date) -> Date { date - Double(daysAfterView) * 86_400 }
}
