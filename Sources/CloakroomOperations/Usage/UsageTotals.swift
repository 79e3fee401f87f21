import CloakroomAWS
import CloakroomJSON
package import CloakroomServer

/// What a scan has counted so far, and where it goes on: kept in a file, so that an interrupted scan does not begin anew.
///
/// The file has one line for what is scanned, then one for each page with what that page added. A line that was cut off
/// counts for nothing, and its page is listed again.
package struct UsageTotals: Sendable, Equatable {
    /// What is scanned; the sums of one scan mean nothing to another.
    package struct Subject: Sendable, Equatable {
        package let location: BucketLocation
        /// Each user has a folder under each; an empty one is the bucket itself.
        package let prefixes: [String]
        /// `nil` for all users.
        package let user: UserID?

        package init(location: BucketLocation, prefixes: [String], user: UserID?) {
            self.location = location
            // Nothing is counted twice.
            self.prefixes = prefixes.reduce(into: []) { unique, prefix in
                if !unique.contains(prefix) { unique.append(prefix) }
            }
            self.user = user
        }
    }

    package enum ResumeError: Error, Sendable, Equatable {
        /// The file is another scan's, or none of ours.
        case otherScan
    }

    /// Users' objects without a readable size, which are in no sum.
    package struct Unsized: Sendable, Equatable {
        package fileprivate(set) var count = 0
        /// The key of the first.
        package fileprivate(set) var example: String?

        fileprivate static func += (left: inout Self, right: Self) {
            left = Self(count: left.count + right.count, example: left.example ?? right.example)
        }
    }

    package let subject: Subject
    package private(set) var bytes: [UserID: Int] = [:]
    package private(set) var objects = 0
    package private(set) var unsized = Unsized()
    /// The number of the prefix that is listed; as many as there are when all is done.
    package private(set) var prefix = 0
    /// The last key of that prefix that was counted; `nil` at its start.
    package private(set) var lastKey: String?

    package init(_ subject: Subject) { self.subject = subject }

    package var isComplete: Bool { prefix == subject.prefixes.count }

    /// What is listed now; with a slash at its end unless it is the whole bucket.
    var listed: String {
        Settings.Vending.folder(subject.prefixes[prefix]) + (subject.user.map { $0.text + "/" } ?? "")
    }

    /// Records have 18 digits.
    static let maximum = 999_999_999_999_999_999

    /// Counts a page of what is listed now.
    ///
    /// - Returns: the line that says so.
    mutating func add(_ page: ObjectPage) -> [UInt8] {
        let folder = subject.prefixes[prefix]
        let start = folder.isEmpty ? 0 : folder.utf8.count + 1
        var added: [UserID: Int] = [:]
        var unsized = Unsized()
        for entry in page.entries {
            let name = entry.key.utf8.dropFirst(start).prefix { $0 != UInt8(ascii: "/") }
            // What lies beside the users' folders belongs to no user.
            guard name.endIndex < entry.key.utf8.endIndex, let user = UserID(String(Substring(name))) else { continue }
            if entry.size == nil { unsized += Unsized(count: 1, example: entry.key) }
            added[user] = min(Self.maximum, (added[user] ?? 0) + min(entry.size ?? 0, Self.maximum))
        }
        let number = prefix
        self.unsized += unsized
        add(added, objects: page.entries.count, lastKey: page.entries.last?.key, isLast: page.continuation == nil)
        return line(number, added, unsized, page)
    }

    private mutating func add(_ added: [UserID: Int], objects: Int, lastKey: String?, isLast: Bool) {
        for (user, size) in added { bytes[user] = min(Self.maximum, (bytes[user] ?? 0) + size) }
        self.objects += objects
        self.lastKey = isLast ? nil : lastKey ?? self.lastKey
        if isLast { prefix += 1 }
    }

    // MARK: The file

    /// The first line.
    ///
    /// - Parameter started: when the scan was started, as the file is to tell it; `nil` as in those of earlier versions.
    package func head(started: String?) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.plainName("bucket")
        writer.string(subject.location.bucket)
        writer.plainName("endpoint")
        writer.string(subject.location.endpoint)
        writer.plainName("region")
        writer.string(subject.location.region)
        writer.plainName("prefixes")
        writer.beginArray()
        for prefix in subject.prefixes { writer.string(prefix) }
        writer.endArray()
        if let user = subject.user {
            writer.plainName("user")
            writer.string(user.text)
        }
        if let started {
            writer.plainName("started")
            writer.string(started)
        }
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    private func line(_ prefix: Int, _ added: [UserID: Int], _ unsized: Unsized, _ page: ObjectPage) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.plainName("prefix")
        writer.integer(prefix)
        writer.plainName("objects")
        writer.integer(page.entries.count)
        writer.plainName("last")
        writer.bool(page.continuation == nil)
        if let key = page.entries.last?.key {
            writer.plainName("key")
            writer.string(key)
        }
        if let example = unsized.example {
            writer.plainName("unsized")
            writer.integer(unsized.count)
            writer.plainName("unsizedKey")
            writer.string(example)
        }
        writer.plainName("bytes")
        writer.beginObject()
        for (user, size) in added.sorted(by: { $0.key.text < $1.key.text }) {
            writer.name(user.text)
            writer.integer(size)
        }
        writer.endObject()
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    /// Goes on from what a file holds.
    ///
    /// - Returns: the totals, how many bytes of the file count, and when the scan was started, as the file tells it.
    package static func resumed(
        _ subject: Subject, from file: [UInt8]
    ) throws(ResumeError) -> (UsageTotals, Int, String?) {
        var totals = UsageTotals(subject)
        let first = Array(file.prefix { $0 != UInt8(ascii: "\n") })
        let started = (try? JSON(parsing: first))?.object?["started"]?.string
        // The same subject, whenever its scan was started.
        let head = totals.head(started: started)
        guard file.starts(with: head) else { throw .otherScan }
        var counted = head.count
        while let end = file[counted...].firstIndex(of: UInt8(ascii: "\n")),
            totals.addLine(Array(file[counted..<end]))
        {
            counted = end + 1
        }
        return (totals, counted, started)
    }

    /// - Returns: whether it was one.
    private mutating func addLine(_ line: [UInt8]) -> Bool {
        guard !isComplete, let json = (try? JSON(parsing: line))?.object, json["prefix"]?.integer == prefix,
            let objects = json["objects"]?.integer, (0...1_000_000).contains(objects), let isLast = json["last"]?.bool,
            let members = json["bytes"]?.object?.members
        else { return false }
        var added: [UserID: Int] = [:]
        for member in members {
            guard let user = UserID(member.name), let size = member.value.integer, (0...Self.maximum).contains(size)
            else { return false }
            added[user] = size
        }
        if let example = json["unsizedKey"]?.string, let count = json["unsized"]?.integer,
            count > 0, count <= objects
        {
            unsized += Unsized(count: count, example: example)
        }
        add(added, objects: objects, lastKey: json["key"]?.string, isLast: isLast)
        return true
    }
}
