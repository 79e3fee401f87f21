/// Where a photo is on its way between the device and the cold tier.
enum PhotoState: Int64, Sendable, CaseIterable {
    /// On the device alone.
    case hot = 0
    /// On the device; the cold tier may have it, or a part of it.
    case uploading
    /// On the device, and proven.
    case both
    /// Proven, and allowed to leave the device: its file may be there still.
    case evicting
    /// Not on the device.
    case cold
    /// Not on the device, and surely absent from the cold tier.
    case missing
}

extension PhotoState {
    /// On the device, and not about to leave it.
    var isLocal: Bool {
        switch self {
        case .hot, .uploading, .both: true
        case .evicting, .cold, .missing: false
        }
    }

    /// Its file has left the device.
    var hasLeft: Bool {
        switch self {
        case .cold, .missing: true
        case .hot, .uploading, .both, .evicting: false
        }
    }

    /// Proven to be in the cold tier.
    var isProven: Bool {
        switch self {
        case .both, .evicting, .cold: true
        case .hot, .uploading, .missing: false
        }
    }
}

/// The same as conditions in SQL. SQLite uses the index `due` only for one that reads as its own.
extension PhotoState {
    static let localSQL = "state < 3"
    static let leftSQL = "state >= 4"
    /// ``isProven``, and those that were.
    static let provenOnceSQL = "state >= 2"

    /// Such as `state IN (2, 4)`.
    static func sql(_ states: PhotoState...) -> String {
        "state IN (\(states.map { String($0.rawValue) }.joined(separator: ", ")))"
    }
}
