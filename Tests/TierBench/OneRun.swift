import CloakroomBenchSupport
import CloakroomKit
import CloakroomTiers
import Foundation

/// Adds photos to a store, some days ago.
struct Fill {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let upload: RetentionPolicy.UploadTime = try arguments.text("upload") == "due" ? .whenDue : .whenAdded
        let bench = try BenchStore.real(arguments, policy: RetentionPolicy(uploadTime: upload))
        let (count, bytes) = (try arguments.number("count"), try arguments.number("bytes"))
        let days = try arguments.number("days")
        try await bench.add(0..<count, byteCount: bytes, in: arguments.folder, daysAgo: days)
        try await bench.store.setPolicy(RetentionPolicy(uploadTime: upload))
        // For the copy by another program, of the same objects.
        let folder = arguments.folder.appendingPathComponent("thumbnails", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for number in 0..<count {
            let thumbnail = Content.thumbnail(Content.photo(number, byteCount: min(bytes, 8)))
            try thumbnail.write(to: folder.appendingPathComponent("\(Content.name(number)).jpg"))
        }
        return ["photos": Double(count)]
    }
}

/// One run of a store.
struct OneRun {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        if arguments.has("writes") { try SQLiteWrites.begin() }
        let bench = try BenchStore.real(
            arguments, daysLater: arguments.has("days") ? try arguments.number("days") : 0)
        let began = ContinuousClock.now
        let before = SQLiteWrites.now
        let report = await bench.store.run(.manual)
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        try report.expectSuccess()
        let (requests, writes) = (bench.meter.now, SQLiteWrites.now)
        return [
            "seconds": seconds, "uploaded": Double(report.uploaded), "evicted": Double(report.evicted),
            "evicted_bytes": Double(report.evictedBytes), "kept": Double(report.kept),
            "requests": Double(requests.requests), "wal_bytes": Double(writes.walBytes - before.walBytes),
            "writes": Double(writes.calls - before.calls), "peak_mb": try Memory.peakMegabytes(),
        ]
    }
}
