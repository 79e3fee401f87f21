import Foundation

/// What a picture in the grid shows of where its photo is.
public enum PhotoBadge: String, Sendable, Hashable, CaseIterable {
    /// On this device, whether or not the cold tier has it too.
    case onDevice
    /// In the cold tier alone: it is downloaded when it is opened.
    case inCloud
    /// Only the thumbnail is left.
    case missing
    /// Stays on this device.
    case pinned

    /// What VoiceOver says.
    public var label: TierText {
        switch self {
        case .onDevice: .badgeOnDevice
        case .inCloud: .badgeInCloud
        case .missing: .badgeMissing
        case .pinned: .badgePinned
        }
    }

    /// Of SF Symbols; `nil` where the usual case needs no picture.
    public var symbolName: String? {
        switch self {
        case .onDevice: nil
        case .inCloud: "icloud"
        case .missing: "exclamationmark.icloud"
        case .pinned: "pin.fill"
        }
    }
}

extension TimelineItem {
    /// Where the photo is, and whether it is pinned.
    public var badges: [PhotoBadge] {
        let place: PhotoBadge =
            switch self.place {
            case .device, .both: .onDevice
            case .cold: .inCloud
            case .missing: .missing
            }
        return isPinned ? [place, .pinned] : [place]
    }

    func with(thumbnail: Data?) -> TimelineItem {
        TimelineItem(
            id: id, takenAt: takenAt, place: place, isPinned: isPinned, byteCount: byteCount, thumbnail: thumbnail,
            cursor: cursor)
    }

    func with(isPinned: Bool) -> TimelineItem {
        TimelineItem(
            id: id, takenAt: takenAt, place: place, isPinned: isPinned, byteCount: byteCount, thumbnail: thumbnail,
            cursor: cursor)
    }
}
