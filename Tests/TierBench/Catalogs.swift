import CloakroomBenchSupport
import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import CloakroomTiers
import Foundation

/// Reads thumbnails from the catalog, beside as many files.
struct Thumbnails {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let count = try arguments.number("count")
        let bucket = MemoryS3()
        try await ColdRows.make(count, in: arguments.folder, bucket, withThumbnails: true)
        let bench = try BenchStore.inMemory(arguments.folder, bucket)
        let files = try (0..<count).map { number in
            let file = arguments.folder.appendingPathComponent("\(number).jpg")
            try ColdRows.thumbnail(number).write(to: file)
            return file.path
        }
        var times = Beside()
        // The first round fills the caches of both.
        for round in -1..<(try arguments.number("rounds")) {
            var turn = Beside()
            try await turn.measure(round + 1) {
                try await read(bench.store, count)
            } theirs: {
                for file in files { _ = try Whole.file(file) }
            }
            if round >= 0 { times.append(turn) }
        }
        return times.results("p50", 0.5)
    }

    private func read(_ store: TieredPhotoStore, _ count: Int) async throws {
        var (cursor, found): (TimelineCursor?, Int) = (nil, 0)
        while true {
            let page = try await store.thumbnails(before: cursor, limit: 60)
            guard let last = page.last else { break }
            guard page.allSatisfy({ $0.thumbnail?.count == Content.thumbnailBytes }) else {
                throw BenchError("a thumbnail is missing")
            }
            found += page.count
            cursor = last.cursor
        }
        guard found == count else { throw BenchError("the timeline has \(found) photos, not \(count)") }
    }
}

/// What a device publishes of new photos, beside what it published of as many at first.
struct Snapshots {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let (count, daily) = (try arguments.number("count"), try arguments.number("daily"))
        let bucket = MemoryS3()
        try await ColdRows.make(count, in: arguments.folder, bucket, withThumbnails: false)
        let bench = try BenchStore.inMemory(arguments.folder, bucket)
        try await bench.store.run(.manual).expectSuccess()
        let ofAll = Double(bench.meter.now.documentPutBytes)
        guard ofAll > 0 else { throw BenchError("no snapshot was published") }
        bench.meter.reset()
        for day in 0..<30 {
            let first = count + day * daily
            try await bench.add(first..<(first + daily), byteCount: 1000, in: arguments.folder)
            try await bench.store.run(.manual).expectSuccess()
        }
        let changed = ofAll / Double(count) * Double(30 * daily)
        return [
            "ratio": Double(bench.meter.now.documentPutBytes) / changed, "bytes_per_photo": ofAll / Double(count),
        ]
    }
}

/// Makes a catalog anew on another device.
struct Rebuilding {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let count = try arguments.number("count")
        let bucket = MemoryS3()
        let other = arguments.folder.appendingPathComponent("other", isDirectory: true)
        try await ColdRows.make(count, in: other, bucket, withThumbnails: false)
        try await BenchStore.inMemory(other, bucket).store.run(.manual).expectSuccess()

        let bench = try BenchStore.inMemory(arguments.folder, bucket)
        let resident = try Memory.residentMegabytes()
        try Memory.resetPeak()
        let began = ContinuousClock.now
        let report = try await bench.store.rebuildCatalog()
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        guard report.photos == count, report.unnamed == 0, report.missing == 0 else { throw BenchError("\(report)") }
        // The pages of the photos' listing, the one of the documents, and each document.
        let documents = await bucket.count(below: bench.layout.catalogs)
        let least = (count + 999) / 1000 + max(1, (documents + 999) / 1000) + documents
        return [
            "ratio": Double(bench.meter.now.requests) / Double(least), "originals": Double(bench.meter.now.photoGets),
            "documents": Double(documents), "seconds": seconds,
            // Beside the bucket, which is in this process too.
            "growth_mb": try Memory.peakMegabytes() - resident,
        ]
    }
}

/// A device that starts with what others of its user have uploaded.
struct Joining {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let report = try await BenchStore.real(arguments).store.rebuildCatalog()
        guard report.unnamed == 0, report.missing == 0 else { throw BenchError("\(report)") }
        return ["photos": Double(report.photos)]
    }
}

/// A run that has nothing to do, after one that had.
struct IdleRun {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        try SQLiteWrites.begin()
        let bench = try BenchStore.inMemory(arguments.folder, MemoryS3())
        try await bench.add(0..<(try arguments.number("count")), byteCount: 1000, in: arguments.folder)
        try await bench.store.run(.manual).expectSuccess()
        // The weekly look at what the store has.
        try await bench.store.run(.manual).expectSuccess()
        bench.meter.reset()
        let before = SQLiteWrites.now
        let report = await bench.store.run(.manual)
        try report.expectSuccess()
        return [
            "requests": Double(bench.meter.now.requests), "writes": Double(SQLiteWrites.now.calls - before.calls),
        ]
    }
}

/// Photos that a device has in S3 alone, written straight into its catalog: so many cannot be uploaded here.
enum ColdRows {
    static func thumbnail(_ number: Int) -> Data { Content.thumbnail(Content.photo(number, byteCount: 8)) }

    static func make(_ count: Int, in folder: URL, _ bucket: MemoryS3, withThumbnails: Bool) async throws {
        let identity: TierIdentity
        do {
            // Makes the catalog, and gives it back.
            let bench = try BenchStore.inMemory(folder, bucket)
            identity = try await S3ColdTier(client: bench.client, layout: bench.layout).identity
        }
        let catalog = folder.appendingPathComponent("store/catalog.sqlite")
        let database = try SQLiteDatabase(at: catalog.path)
        let layout = try PhotoLayout(userID: "u_bench").ofTiers
        var seeds: [(key: String, md5: [UInt8], sha256: [UInt8])] = []
        for number in 0..<count {
            let content = Array("photo \(number)".utf8)
            let md5 = MD5.hash(content)
            seeds.append((try layout.photo(md5: md5.hexadecimal), md5, SHA256.hash(content)))
        }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        try database.transaction { () throws(SQLiteError) in
            for (number, seed) in seeds.enumerated() {
                try database.run(
                    """
                    INSERT INTO photo (id, sha256, md5, byte_count, format, taken_at, added_at, state, tier, remote_key,
                        entity_tag, verified_at)
                    VALUES (?, ?, ?, 1000, 'jpg', ?, ?, 4, ?, ?, ?, ?)
                    """,
                    [
                        SQLiteValue(number + 1), .blob(seed.sha256), .blob(seed.md5),
                        .integer(1_700_000_000_000 + Int64(number) * 1000), .integer(now - 40 * 86_400_000),
                        .text(identity.description), .text(seed.key), .text("\"\(seed.md5.hexadecimal)\""),
                        .integer(now),
                    ])
                try database.run(
                    "INSERT INTO photo_name (name, photo) VALUES (?, ?)",
                    [.text(Content.name(number)), SQLiteValue(number + 1)])
                guard withThumbnails else { continue }
                try database.run(
                    "INSERT INTO thumbnail (photo, width, height, bytes) VALUES (?, 256, 192, ?)",
                    [SQLiteValue(number + 1), .blob(Array(thumbnail(number)))])
            }
        }
        database.close()
        for seed in seeds { await bucket.seed(seed.key, md5: seed.md5, sha256: seed.sha256, byteCount: 1000) }
    }
}
