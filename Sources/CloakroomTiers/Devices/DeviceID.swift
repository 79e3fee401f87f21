public import Foundation

/// One installation of the app: made at random when a store is new.
public struct DeviceID: RawRepresentable, Sendable, Hashable, Codable {
    /// 1 to 32 letters and digits.
    public let rawValue: String

    public init?(rawValue: String) {
        guard (1...32).contains(rawValue.utf8.count),
            rawValue.utf8.allSatisfy({
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            })
        else { return nil }
        self.rawValue = rawValue
    }

    static func random() -> DeviceID {
        let text = UUID().uuidString.lowercased().filter { $0 != "-" }
        return DeviceID(rawValue: text) ?? random()
    }
}

/// A device of the user, as its documents show it.
public struct PhotoDevice: Sendable, Hashable {
    public var id: DeviceID
    public var isThisOne: Bool
    /// By the store's clock; 1970 for one whose documents were gone before this device noted their date.
    public var lastPublished: Date
    /// Of all its snapshot documents; 0 for one whose documents are gone: until it publishes again or is dismissed, no
    /// device deletes anything.
    public var snapshotBytes: Int64

    public init(id: DeviceID, isThisOne: Bool, lastPublished: Date, snapshotBytes: Int64) {
        self.id = id
        self.isThisOne = isThisOne
        self.lastPublished = lastPublished
        self.snapshotBytes = snapshotBytes
    }
}

/// A device whose documents are gone from the cold tier: what it needs is not known, so the user's devices delete nothing
/// until it publishes again or is dismissed, see ``TieredPhotoStore/dismissDevice(_:)``.
public struct AbsentDevice: Sendable, Hashable {
    public var id: DeviceID
    /// By the store's clock; 1970 for one whose documents were gone before this device noted their date.
    public var lastPublished: Date
    /// When this device found its documents gone, by the store's clock.
    public var since: Date

    public init(id: DeviceID, lastPublished: Date, since: Date) {
        self.id = id
        self.lastPublished = lastPublished
        self.since = since
    }
}
