import CloakroomCrypto
import Foundation
import Testing

/// Launches that are killed at every point of what a device does, twice in a row.
@Suite(.serialized) struct TierCrashTests {
    @Test func `killed at any point of adding, a photo that was added is there`() async throws {
        try await CrashFolder.with { folder in
            try await folder.killEverywhere("add", days: 0, atLeast: 4 * 4) { folder in
                #expect(folder.owned(by: "a") == ["1", "2", "3", "4"])
                // What was begun and not finished leaves nothing.
                #expect(folder.local("a").count == 4)
            }
        }
    }

    @Test func `killed at any point, what was left in the inbox is there, and is added once`() async throws {
        try await CrashFolder.with { folder in
            try await folder.killEverywhere("inbox", days: 0, atLeast: 30) { folder in
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("store-a/inbox").path)
                #expect(names.filter { $0.hasSuffix(".photo") } == [])
            }
        }
    }

    @Test func `killed at any point of a run, photos are proven before they leave`() async throws {
        try await CrashFolder.with { folder in
            try await folder.launch("add", days: 0)
            try await folder.killEverywhere("run", days: 31, atLeast: 30) { folder in
                // The one without a thumbnail stays.
                #expect(folder.local("a") == [CrashFolder.bytes("4")])
                #expect(folder.remote.count == 4)
            }
        }
    }

    @Test func `killed at any point of freeing space, photos are proven before they leave`() async throws {
        try await CrashFolder.with { folder in
            try await folder.launch("add", days: 0)
            try await folder.launch("run", days: 1)
            try await folder.killEverywhere("free", days: 8, atLeast: 15) { folder in
                #expect(folder.local("a") == [CrashFolder.bytes("4")])
            }
        }
    }

    @Test(arguments: ["open", "restore"])
    func `killed at any point of fetching, photos arrive as they were`(scenario: String) async throws {
        try await CrashFolder.with { folder in
            try await folder.addAndRun()
            try await folder.killEverywhere(scenario, days: 40, atLeast: 3 * 5) { folder in
                #expect(folder.local("a").count == 4)
            }
        }
    }

    @Test func `killed at any point of removing, nothing goes that another photo or device needs`() async throws {
        try await CrashFolder.with { folder in
            try await folder.addAndRun()
            try await folder.killEverywhere("remove", days: 40, atLeast: 10) { folder in
                #expect(folder.owned(by: "a") == ["3", "4"])
                // Announced, and not yet done.
                #expect(folder.remote.count == 5)
            }
        }
    }

    @Test func `killed at any point of a deletion, only what no device has goes`() async throws {
        try await CrashFolder.with { folder in
            try await folder.addAndRun()
            try await folder.launch("remove", days: 40)
            try await folder.killEverywhere("run", days: 43, atLeast: 8) { folder in
                // The other device has the first one, too.
                #expect(folder.remote == Set(["1", "3", "4", "5"].map { CrashFolder.bytes($0) }))
            }
        }
    }

    @Test func `killed at any point of moving an older store, each of its photos is here, once`() async throws {
        try await CrashFolder.with { folder in
            try folder.makeOlderStore(of: "a")
            try await folder.killEverywhere("migrate", days: 0, atLeast: 60) { folder in
                let rows = try folder.older("a")
                #expect(rows == [:])
                #expect(folder.owned(by: "a") == ["1", "2", "3", "4"])
                #expect(try await folder.photoCount("a", days: 0.21) == 4)
                // Those that are old leave the device by the next run at the latest.
                try await folder.launch("run", days: 0.25)
                #expect(folder.local("a") == Set(["3", "4"].map { CrashFolder.bytes($0) }))
                #expect(folder.remote.count == 4)
            }
        }
    }

    @Test(arguments: [false, true])
    func `killed at any point, a catalog is made anew of what is there`(isAllLost: Bool) async throws {
        try await CrashFolder.with { folder in
            try await folder.addAndRun()
            if isAllLost {
                try FileManager.default.removeItem(at: folder.file("store-a"))
            } else {
                for name in ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"] {
                    try? FileManager.default.removeItem(at: folder.file("store-a/\(name)"))
                }
            }
            try await folder.killEverywhere("rebuild", days: 40, atLeast: 3) { _ in }
        }
    }
}

extension CrashFolder {
    /// Both devices have all of their photos in the cold tier, and where they can, nowhere else.
    fileprivate func addAndRun() async throws {
        for device in ["a", "b"] { try await launch("add", device: device, days: 0) }
        for device in ["a", "b"] { try await launch("run", device: device, days: 31) }
    }

    /// Kills a scenario at each of its points, the next launch at another one, and lets the third come to its end.
    ///
    /// - Parameters:
    ///   - count: of points, that there are surely.
    ///   - expectations: of what the third launch leaves.
    fileprivate func killEverywhere(
        _ scenario: String, days: Double, atLeast count: Int,
        _ expectations: (CrashFolder) async throws -> Void
    ) async throws {
        var point = 1
        while true {
            let end = try await withCopy { folder in
                let end = try await folder.launch(scenario, killedAt: point, days: days)
                try await folder.launch(scenario, killedAt: point * 7 % 19 + 1, days: days + 0.1)
                #expect(try await folder.launch(scenario, days: days + 0.2) == .finished)
                try await expectations(folder)
                for device in Self.photos.keys.sorted() {
                    try await folder.expectAllOpen(device, days: days + 0.3)
                }
                return end
            }
            if end == .finished { break }
            point += 1
        }
        #expect(point > count, "\(scenario) has \(point - 1) points")
    }
}
