import CloakroomCrypto
import CloakroomKit
import Foundation

/// What has come so far of photos that are being fetched: a file for each, and what tiers keep beside it, hidden.
extension StoreFolder {
    /// The file that the cold tier writes.
    func part(of md5: [UInt8]) -> URL {
        URL(fileURLWithPath: incomingPath + Self.partName(of: md5), isDirectory: false)
    }

    /// Removes what has come of a photo.
    func removePart(of md5: [UInt8]) throws(CloakroomError) {
        let stems = Self.partStems(of: md5)
        for name in try Self.names(in: incoming) where stems.contains(Self.stem(of: name)) {
            try Self.remove(incoming.appendingPathComponent(name, isDirectory: false))
        }
    }

    /// Removes what has come of other photos than these.
    ///
    /// What cannot be removed, or not be listed, is only in the way: nothing in the folder is a photo's only copy.
    func removeParts(but needed: some Sequence<[UInt8]>) {
        let needed = Set(needed.flatMap(Self.partStems))
        for name in partNames() where !needed.contains(Self.stem(of: name)) {
            try? Self.remove(incoming.appendingPathComponent(name, isDirectory: false))
        }
    }

    /// - Returns: of these photos, those of which something has come.
    func withParts(_ photos: [[UInt8]]) -> [[UInt8]] {
        let stems = Set(partNames().map(Self.stem))
        guard !stems.isEmpty else { return [] }
        return photos.filter { Self.partStems(of: $0).contains { stems.contains($0) } }
    }

    private func partNames() -> [String] {
        let names = (try? Self.names(in: incoming)) ?? []
        return names.filter { $0.hasPrefix(Self.partPrefix) || $0.hasPrefix(PartialFile.hiddenPrefix) }
    }

    private static let partPrefix = "fetch-"

    private static func partName(of md5: [UInt8]) -> String { partPrefix + md5.hexadecimal }

    /// Of the file itself, and of those beside it.
    private static func partStems(of md5: [UInt8]) -> [String] {
        let name = partName(of: md5)
        return [name, PartialFile.hiddenName(of: name)]
    }

    /// A name up to its extension, if it has one; the dot of a hidden one begins none.
    private static func stem(of name: String) -> String {
        name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? String(name[..<$0]) : nil } ?? name
    }
}
