import CloakroomKit
import Foundation

/// What the view models need of a ``TieredPhotoStore``; their tests have another one.
protocol PhotoStoring: Sendable {
    func thumbnails(before: TimelineCursor?, limit: Int) async throws -> [TimelineItem]
    func thumbnail(of id: PhotoID) async throws -> Data?
    func load(_ id: PhotoID, within: Duration) -> AsyncStream<PhotoLoad>
    func pin(_ id: PhotoID, _ isPinned: Bool) async throws

    func usage() async throws -> StorageUsage
    func availability() async -> TierAvailability
    func downloadPlan() async throws -> DownloadPlan
    var policy: RetentionPolicy { get async }
    func setPolicy(_ policy: RetentionPolicy) async throws
    func freeSpace(
        _ mode: FreeSpaceMode, progress: (@Sendable (_ done: Int, _ total: Int) -> Void)?
    ) async -> TieringReport
    func restoreAll(progress: (@Sendable (_ done: Int, _ total: Int) -> Void)?) async -> DownloadReport

    func alarms() async throws -> [TierAlarm]
    func dismissAlarm(_ kind: TierAlarm.Kind) async throws
    func accountChange() async throws -> AccountChange?
    func acceptAccount(_ account: TierIdentity) async throws
    func devices() async throws -> [PhotoDevice]
    func dismissDevice(_ id: DeviceID) async throws
}

extension TieredPhotoStore: PhotoStoring {}
