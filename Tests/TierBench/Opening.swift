import CloakroomBenchSupport
import CloakroomCrypto
import CloakroomKit
import CloakroomTiers
import Foundation

/// Durations of two things that were done in turns.
struct Beside {
    private var ours: [Duration] = []
    private var theirs: [Duration] = []

    mutating func append(_ other: Beside) {
        ours += other.ours
        theirs += other.theirs
    }

    /// Every other time the other one comes first.
    mutating func measure(
        _ number: Int, ours ourBody: () async throws -> Void, theirs theirBody: () async throws -> Void
    ) async throws {
        for isOurs in number % 2 == 0 ? [true, false] : [false, true] {
            let began = ContinuousClock.now
            if isOurs { try await ourBody() } else { try await theirBody() }
            let time = ContinuousClock.now - began
            if isOurs { ours.append(time) } else { theirs.append(time) }
        }
    }

    /// The quantile of the one over that of the other, and both in milliseconds.
    func results(_ name: String, _ quantile: Double) -> [String: Double] {
        let (our, their) = (Self.quantile(quantile, of: ours), Self.quantile(quantile, of: theirs))
        return [
            "\(name)_ratio": our / their, "\(name)_ms": our / .milliseconds(1),
            "\(name)_other_ms": their / .milliseconds(1),
        ]
    }

    private static func quantile(_ quantile: Double, of values: [Duration]) -> Duration {
        let sorted = values.sorted()
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * quantile))]
    }
}

/// Opens photos that are on the device, each beside its file without a store.
struct HotOpening {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let (count, bytes) = (try arguments.number("count"), try arguments.number("bytes"))
        let bench = try BenchStore.inMemory(arguments.folder, MemoryS3())
        try await bench.add(0..<count, byteCount: bytes, in: arguments.folder)
        var photos: [(id: PhotoID, file: URL)] = []
        for number in 0..<count {
            let id = try await bench.photo(number)
            let file = try await bench.store.open(id)
            photos.append((id, file.url))
            file.close()
        }
        var times = Beside()
        for number in 0..<(try arguments.number("opens")) {
            let photo = photos[number % count]
            try await times.measure(number) {
                let file = try await bench.store.open(photo.id)
                try Self.read(file.url, bytes)
                file.close()
            } theirs: {
                try Self.read(photo.file, bytes)
            }
        }
        return times.results("p50", 0.5).merging(times.results("p99", 0.99)) { first, _ in first }
    }

    private static func read(_ file: URL, _ byteCount: Int) throws {
        let data = try Whole.file(file.path)
        guard data.count == byteCount else { throw BenchError("\(file.path) has \(data.count) bytes") }
    }
}

/// Opens photos that are not on the device, each beside a plain GET of the same object.
struct ColdOpening {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let (first, count, bytes) =
            (try arguments.number("first"), try arguments.number("count"), try arguments.number("bytes"))
        let bench = try BenchStore.real(arguments)
        var times = Beside()
        for number in first..<(first + count) {
            let id = try await bench.photo(number)
            let content = Content.photo(number, byteCount: bytes)
            let key = try bench.layout.ofTiers.photo(md5: MD5.hash(content).hexadecimal)
            try await times.measure(number) {
                let file = try await bench.store.open(id, within: .seconds(60))
                file.close()
            } theirs: {
                guard try await bench.client.get(key) == content else { throw BenchError("\(key) has other bytes") }
            }
        }
        return times.results("p50", 0.5)
    }
}

/// A hundred callers of one photo that is not on the device.
struct Callers {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let bench = try BenchStore.real(arguments)
        let id = try await bench.photo(try arguments.number("first"))
        bench.meter.reset()
        let store = bench.store
        let opened = try await withThrowingTaskGroup(of: PhotoFile.self) { group in
            for _ in 0..<100 { group.addTask { try await store.open(id, within: .seconds(60)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        guard Set(opened.map(\.url)).count == 1 else { throw BenchError("the callers got different files") }
        return ["gets": Double(bench.meter.now.photoGets)]
    }
}
