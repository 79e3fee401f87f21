#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A folder of one user's objects that another may read until a time, as it stands in the other's record.
package struct SharedFolder: Sendable, Hashable {
    package let owner: UserID
    /// The beginning of object keys, in a folder of the owner's; ends in `/`.
    package let prefix: String
    /// In whole seconds.
    package let end: Date

    /// S3 has keys of 1,024 bytes; a prefix this long leaves little of what STS takes for policies.
    package static let maximumPrefixLength = 512

    /// - Returns: `nil` for a prefix with a ``fault(of:)``.
    package init?(owner: UserID, prefix: String, end: Date) {
        guard Self.fault(of: prefix) == nil else { return nil }
        self.owner = owner
        self.prefix = prefix
        self.end = Date(timeIntervalSince1970: end.timeIntervalSince1970.rounded(.down))
    }

    /// What is wrong with a prefix, in words; `nil` for nothing.
    ///
    /// It becomes a part of a policy: nothing in it may mean anything to JSON or to IAM.
    package static func fault(of prefix: String) -> String? {
        if !prefix.hasSuffix("/") { return "does not end in /" }
        if prefix.utf8.count > maximumPrefixLength { return "is longer than \(maximumPrefixLength) bytes" }
        for byte in prefix.utf8 where !(0x20..<0x7F).contains(byte) || #""\*?$"#.utf8.contains(byte) {
            return #"has a character other than printable ASCII, or one of " \ * ? $"#
        }
        let segments = prefix.dropLast().split(separator: "/", omittingEmptySubsequences: false)
        // S3 takes them as they are, clients do not.
        return segments.contains { ["", ".", ".."].contains($0) } ? "has an empty name, . or .. between slashes" : nil
    }

    /// The one of these folders of users in which it lies: then no user but the owner has objects there.
    ///
    /// - Parameter folders: ``SessionPolicy/folders``.
    package func folder(among folders: [String]) -> String? {
        folders.first { prefix.utf8.starts(with: "\($0)\(owner.text)/".utf8) }
    }
}

extension SharedFolder {
    /// A line of a record: `1798761600 u_1 photos/u_1/albums/x/`.
    package var line: String { "\(Int(end.timeIntervalSince1970)) \(owner.text) \(prefix)" }

    init?(line: Substring) {
        let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count == 3, (1...12).contains(words[0].utf8.count),
            words[0].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            // To the year 9999, as other times of a record.
            let seconds = Int(words[0]), seconds <= 253_402_300_799, let owner = UserID(String(words[1]))
        else { return nil }
        self.init(
            owner: owner, prefix: String(words[2]), end: Date(timeIntervalSince1970: Double(seconds)))
    }
}
