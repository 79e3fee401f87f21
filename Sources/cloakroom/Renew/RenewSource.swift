import CloakroomAWS
import CloakroomCrypto
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where the keys of `cloakroom renew` come from.
enum RenewSource: Sendable {
    /// A file, one key a line.
    case list(String)
    case older(age: Duration, prefix: String)

    private static let maximumBytes = 1 << 28
    /// U+FEFF in UTF-8, as editors on Windows write it.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// How long after its start a run may still be resumed.
    ///
    /// A listing passes over what is younger than the age: by the end of the run it is older by the run's length. S3 expires
    /// objects in whole days, so a day is the most that the operator's age is let slip. To begin anew costs a listing only:
    /// what was renewed is young. Of a list, what was renewed before the interruption grows older likewise: a later run of
    /// the same list is meant to renew all of it.
    var maximumStateAge: Duration {
        switch self {
        case .list: .seconds(86_400)
        case .older(let age, _): min(age, .seconds(86_400))
        }
    }

    /// Why a run that is older than that begins anew.
    var staleness: String {
        switch self {
        case .list: "what was renewed then may be due again by now"
        case .older: "objects that were too young then may be old enough by now"
        }
    }

    /// For the state: another source does not go on from it.
    var name: String {
        switch self {
        case .list(let path): "list \(path) \(Self.digest(ofFile: path))"
        case .older(let age, let prefix): "older than \(age.components.seconds) s: \(prefix)"
        }
    }

    /// What is printed beside a key that is not renewed; `nil` where it is only counted.
    ///
    /// A list names what is to be saved. A listing may meet many objects of others, and what is gone since.
    func word(_ miss: RenewalRun.Miss) -> String? {
        switch (miss, self) {
        case (.refused(let failure), _): failure.rawValue
        case (.gone, .list): "gone"
        case (.leftAlone, .list): "left alone"
        case (.gone, .older), (.leftAlone, .older): nil
        }
    }

    /// Why a run that is at its end has not saved what it was for; `nil` where only refused keys may tell.
    ///
    /// - Parameter hasFound: whether there was anything, however young, that is not left alone.
    func shortfall(_ totals: RenewalRun.Totals, hasFound: Bool) -> String? {
        switch self {
        case .list(let path):
            if totals == RenewalRun.Totals() { return "\(path) holds no key" }
            let missed = totals.gone + totals.skipped
            return missed == 0 ? nil : "\(missed) of the keys in \(path) are gone or left alone"
        case .older(_, let prefix):
            if hasFound { return nil }
            return "there is nothing to renew under \"\(prefix)\": no object, or only those that are left alone"
        }
    }

    /// A position is a line of one list: another list under the same name does not go on from it.
    private static func digest(ofFile path: String) -> String {
        let bytes = (try? Data(contentsOf: URL(fileURLWithPath: path))).map { Array($0) } ?? []
        return SHA256.hash(bytes).hexadecimal
    }

    typealias Body = @LoopActor ([String], String) async throws(RenewalRun.RunError) -> Void

    /// - Parameters:
    ///   - position: what the body was last given; `nil` or empty for the beginning.
    ///   - latest: a listing passes over what was written at this time or later.
    ///   - onYoung: told of each key of a listing that is passed over.
    ///   - body: takes a batch, and where the next one begins.
    @LoopActor
    func batches(
        from position: String?, writtenBefore latest: Date = .distantFuture, now: () -> Date = { Date() },
        _ s3: S3Client, onYoung: @LoopActor (String) -> Void = { _ in }, _ body: Body
    ) async throws(RenewalRun.RunError) {
        switch self {
        case .list(let path): try await list(path, from: position.flatMap { Int($0) } ?? 0, body)
        case .older(let age, let prefix):
            let start = position.flatMap { $0.isEmpty ? nil : S3Client.ListPosition.after(key: $0) } ?? .start
            try await older(prefix, from: start, s3, onYoung, body) {
                // A run may take days, in which what it comes to grows older.
                min(now().addingTimeInterval(-(age / .seconds(1))), latest)
            }
        }
    }

    @LoopActor
    private func list(_ path: String, from first: Int, _ body: Body) async throws(RenewalRun.RunError) {
        let lines = try Self.lines(of: path)
        var start = first
        while start < lines.count {
            let end = min(start + RenewalRun.batchSize, lines.count)
            try await body(lines[start..<end].map { String(decoding: $0, as: UTF8.self) }, String(end))
            start = end
        }
    }

    /// A list is read as a whole before anything is renewed; a mark of byte order at its head is no part of a key.
    private static func lines(of path: String) throws(RenewalRun.RunError) -> [Data] {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
            throw .unreadable("\(path) cannot be read; it has to be a file, neither a pipe nor -")
        }
        guard data.count <= maximumBytes else {
            throw .unreadable("\(path) is larger than \(maximumBytes) bytes; split it")
        }
        let text = data.starts(with: byteOrderMark) ? data.dropFirst(byteOrderMark.count) : data
        let lines = text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
        for line in lines {
            guard String(decoding: line, as: UTF8.self).utf8.elementsEqual(line) else {
                throw .unreadable("\(path) is not UTF-8")
            }
        }
        return lines
    }

    /// - Parameter limit: what was written before it is old enough.
    @LoopActor
    private func older(
        _ prefix: String, from start: S3Client.ListPosition, _ s3: S3Client, _ onYoung: @LoopActor (String) -> Void,
        _ body: Body, limit: () -> Date
    ) async throws(RenewalRun.RunError) {
        var position = start
        var progress = ListingProgress()
        while true {
            let page: ObjectPage
            do throws(AWSError) {
                page = try await s3.list(prefix: prefix, from: position, deadline: .now + .seconds(60))
            } catch {
                if error.status == 403 { throw .misconfigured(code: error.code) }
                throw .unavailable(code: error.code)
            }
            let limit = limit()
            // What has no readable time may be old: renewing it loses nothing.
            var old: [String] = []
            for entry in page.entries {
                if entry.lastModified.map({ $0 < limit }) ?? true { old.append(entry.key) } else { onYoung(entry.key) }
            }
            for start in stride(from: 0, to: old.count, by: RenewalRun.batchSize) {
                let keys = Array(old[start..<min(start + RenewalRun.batchSize, old.count)])
                try await body(keys, keys.last ?? "")
            }
            if let last = page.entries.last?.key { try await body([], last) }
            guard progress.advances(page) else { throw .unavailable(code: "SamePageAgain") }
            guard let continuation = page.continuation else { return }
            position = .continuation(continuation)
        }
    }
}
