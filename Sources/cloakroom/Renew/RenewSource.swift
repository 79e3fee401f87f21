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

    /// A position is a line of one list: another list under the same name does not go on from it.
    private static func digest(ofFile path: String) -> String {
        let bytes = (try? Data(contentsOf: URL(fileURLWithPath: path))).map { Array($0) } ?? []
        return SHA256.hash(bytes).hexadecimal
    }

    typealias Body = @LoopActor ([String], String) async throws(RenewalRun.RunError) -> Void

    /// - Parameters:
    ///   - position: what the body was last given; `nil` or empty for the beginning.
    ///   - latest: a listing passes over what was written at this time or later.
    ///   - body: takes a batch, and where the next one begins.
    @LoopActor
    func batches(
        from position: String?, writtenBefore latest: Date = .distantFuture, now: () -> Date = { Date() },
        _ s3: S3Client, _ body: Body
    ) async throws(RenewalRun.RunError) {
        switch self {
        case .list(let path): try await list(path, from: position.flatMap { Int($0) } ?? 0, body)
        case .older(let age, let prefix):
            let start = position.flatMap { $0.isEmpty ? nil : S3Client.ListPosition.after(key: $0) } ?? .start
            try await older(prefix, from: start, s3, body) {
                // A run may take days, in which what it comes to grows older.
                min(now().addingTimeInterval(-(age / .seconds(1))), latest)
            }
        }
    }

    @LoopActor
    private func list(_ path: String, from first: Int, _ body: Body) async throws(RenewalRun.RunError) {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
            throw .unreadable("\(path) cannot be read")
        }
        guard data.count <= Self.maximumBytes else {
            throw .unreadable("\(path) is larger than \(Self.maximumBytes) bytes; split it")
        }
        let lines = data.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
        var start = first
        while start < lines.count {
            let end = min(start + RenewalRun.batchSize, lines.count)
            var keys: [String] = []
            for line in lines[start..<end] {
                let key = String(decoding: line, as: UTF8.self)
                guard key.utf8.elementsEqual(line) else { throw .unreadable("\(path) is not UTF-8") }
                keys.append(key)
            }
            try await body(keys, String(end))
            start = end
        }
    }

    /// - Parameter limit: what was written before it is old enough.
    @LoopActor
    private func older(
        _ prefix: String, from start: S3Client.ListPosition, _ s3: S3Client, _ body: Body, limit: () -> Date
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
            let old = page.entries.filter { $0.lastModified.map { $0 < limit } ?? true }.map(\.key)
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
