public import CloakroomKit
public import Foundation

/// A photo of one ``TieredPhotoStore``; it means nothing on another device, and nothing after the catalog was made anew.
public struct PhotoID: RawRepresentable, Sendable, Hashable, Codable {
    public let rawValue: Int64

    public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// Where a photo's bytes are.
public enum PhotoPlace: Sendable, Hashable {
    /// On this device alone.
    case device
    /// On this device, and proven to be in the cold tier.
    case both
    /// In the cold tier alone.
    case cold
    /// In the cold tier no more, and not on this device: only the thumbnail is left.
    case missing
}

/// A place in the timeline: after the items of a page.
public struct TimelineCursor: Sendable, Hashable, Codable {
    let takenAt: Int64
    let id: Int64

    init(takenAt: Int64, id: Int64) {
        self.takenAt = takenAt
        self.id = id
    }
}

/// One photo of the timeline, newest first.
public struct TimelineItem: Sendable, Identifiable, Hashable {
    public let id: PhotoID
    public let takenAt: Date
    public let place: PhotoPlace
    public let isPinned: Bool
    public let byteCount: Int64
    /// JPEG, upright, 256 pixels at most; `nil` when none could be made, or none has been fetched yet.
    public let thumbnail: Data?
    public let cursor: TimelineCursor

    init(
        id: PhotoID, takenAt: Date, place: PhotoPlace, isPinned: Bool, byteCount: Int64, thumbnail: Data?,
        cursor: TimelineCursor
    ) {
        self.id = id
        self.takenAt = takenAt
        self.place = place
        self.isPinned = isPinned
        self.byteCount = byteCount
        self.thumbnail = thumbnail
        self.cursor = cursor
    }
}

extension TimelineItem {
    func moved(to place: PhotoPlace) -> TimelineItem {
        TimelineItem(
            id: id, takenAt: takenAt, place: place, isPinned: isPinned, byteCount: byteCount, thumbnail: thumbnail,
            cursor: cursor)
    }
}

/// The steps of opening a photo: see ``TieredPhotoStore/load(_:within:)``.
public enum PhotoLoad: Sendable {
    case thumbnail(Data)
    case progress(fraction: Double)
    case file(PhotoFile)
    /// The last step. Whether a "tap to retry" makes sense says ``CloakroomError/isRetryable``.
    case failed(CloakroomError)
}
