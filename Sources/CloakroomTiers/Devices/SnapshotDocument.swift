import CloakroomCrypto
import CloakroomKit
import Foundation

/// A part of what a device names: photos as they were when it was written, and photos that the device has no more.
///
/// All of a device's documents together, in the order of their sequences, are its snapshot: the last one that says
/// something of a photo counts. So a document can be read, or written, any number of times.
struct SnapshotDocument: SharedDocument, Equatable {
    var entries: [SnapshotEntry]
    /// The SHA-256 of each, or its MD5 where no SHA-256 was known.
    var removed: [[UInt8]]

    static let maximumEntries = 2_000
    /// A document ends with the entry that reaches it.
    static let preferredBytes = 1 << 20

    init(entries: [SnapshotEntry] = [], removed: [[UInt8]] = []) {
        self.entries = entries
        self.removed = removed
    }

    private enum CodingKeys: String, CodingKey { case entries, removed }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        entries = try container.decode([SnapshotEntry].self, forKey: .entries)
        removed =
            try container.decodeIfPresent([String].self, forKey: .removed)?.map { text in
                guard let photo = bytes(hexadecimal: text, counts: [SHA256.byteCount, MD5.byteCount]) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .removed, in: container, debugDescription: "no digest")
                }
                return photo
            } ?? []
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(entries, forKey: .entries)
        if !removed.isEmpty { try container.encode(removed.map(\.hexadecimal), forKey: .removed) }
    }
}

/// A photo as a device names it.
struct SnapshotEntry: Codable, Sendable, Equatable {
    /// Sorted.
    var names: [String]
    /// `nil`: the device knows the photo from a listing alone.
    var sha256: [UInt8]?
    var md5: [UInt8]
    var byteCount: Int64
    var format: String
    /// In milliseconds since 1970.
    var takenAt: Int64
    var addedAt: Int64
    var isPinned: Bool

    /// Which photo it is, among those of one device.
    var photo: [UInt8] { sha256 ?? md5 }

    /// Of one photo, in UTF-8; names above it are not published, so that an entry always fits in a document.
    static let maximumNameBytes = 256 << 10
    /// The years 1 to 9999.
    private static let dates: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    private enum CodingKeys: String, CodingKey {
        case names, sha256, md5, byteCount, format, takenAt, addedAt
        case isPinned = "pinned"
    }
}

extension SnapshotEntry {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func require(_ condition: Bool, _ key: CodingKeys) throws {
            guard !condition else { return }
            throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "not a value of ours")
        }
        func digest(_ text: String, _ count: Int, _ key: CodingKeys) throws -> [UInt8] {
            let digest = bytes(hexadecimal: text, counts: [count])
            try require(digest != nil, key)
            return digest ?? []
        }
        names = try container.decodeIfPresent([String].self, forKey: .names) ?? []
        sha256 = try container.decodeIfPresent(String.self, forKey: .sha256)
            .map { try digest($0, SHA256.byteCount, .sha256) }
        md5 = try digest(container.decode(String.self, forKey: .md5), MD5.byteCount, .md5)
        byteCount = try container.decode(Int64.self, forKey: .byteCount)
        // More than any store takes, and little enough to be added up.
        try require((0...1 << 44).contains(byteCount), .byteCount)
        format = try container.decode(String.self, forKey: .format)
        try require(OriginalFormat.isValid(format), .format)
        takenAt = try container.decode(Int64.self, forKey: .takenAt)
        try require(Self.dates.contains(takenAt), .takenAt)
        addedAt = try container.decode(Int64.self, forKey: .addedAt)
        try require(Self.dates.contains(addedAt), .addedAt)
        isPinned = try container.decodeIfPresent(Bool.self, forKey: .isPinned) ?? false
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if !names.isEmpty { try container.encode(names, forKey: .names) }
        try container.encodeIfPresent(sha256?.hexadecimal, forKey: .sha256)
        try container.encode(md5.hexadecimal, forKey: .md5)
        try container.encode(byteCount, forKey: .byteCount)
        try container.encode(OriginalFormat.isValid(format) ? format : PhotoFormat.unknown, forKey: .format)
        try container.encode(min(max(takenAt, Self.dates.lowerBound), Self.dates.upperBound), forKey: .takenAt)
        try container.encode(min(max(addedAt, Self.dates.lowerBound), Self.dates.upperBound), forKey: .addedAt)
        if isPinned { try container.encode(isPinned, forKey: .isPinned) }
    }
}
