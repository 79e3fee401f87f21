import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// Images are shown whether or not they can be cached.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible)) struct FullDiskTests {
    private let bench: BackupBench
    private static let bytes = Data(repeating: 7, count: 100_000)

    init() throws { bench = try BackupBench() }

    private func loader(in folder: URL, _ http: ScriptedHTTP) throws -> ImageLoader {
        try ImageLoader(
            folder: folder, owner: .test, transport: http,
            baseURLs: try AssetBaseURLs([#require(URL(string: "https://cdn.example"))]),
            settings: ImageLoaderSettings(maximumCacheBytes: 1 << 20, maximumImageBytes: 1 << 20),
            serverClock: nil, runtime: bench.fake.runtime)
    }

    private func chat(_ name: String) -> ImageSource {
        .chatImage(link: "https://cdn.example/\(name).bin", expiration: bench.fake.time(in: .seconds(3600)))
    }

    private static func images() -> ScriptedHTTP { ScriptedHTTP { _, _ in .response(200, [], Self.bytes) } }

    /// Names of all files of the cache.
    private func files(in folder: URL) -> [String] {
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (found?.allObjects as? [URL] ?? []).filter { !$0.hasDirectoryPath }.map(\.lastPathComponent)
    }

    @Test func `an image is shown without being cached, and cached once there is room`() async throws {
        let disk = try SmallDisk(byteCount: 1 << 20)
        defer { disk.unmount() }
        let folder = disk.url.appendingPathComponent("images")
        let http = Self.images()
        let images = try loader(in: folder, http)
        #expect(try await images.data(for: chat("a")) == Self.bytes)
        try disk.fill(leaving: 8192)
        #expect(try await images.data(for: chat("b")) == Self.bytes)
        #expect(await bench.code { try await images.file(for: chat("b")) } == .diskFull)
        #expect(await images.cachedBytes == 100_000)
        #expect(files(in: folder).count == 1)
        #expect(await http.sent.count == 3)
        // What was cached before is still there, and the next launch has it.
        for images in [images, try loader(in: folder, http)] {
            #expect(try await images.data(for: chat("a")) == Self.bytes)
        }
        #expect(await http.sent.count == 3)
        try disk.empty()
        #expect(try await Data(contentsOf: images.file(for: chat("b"))) == Self.bytes)
        #expect(await images.cachedBytes == 200_000)
    }

    @Test func `an image that is discarded on a full disk is not shown again`() async throws {
        let disk = try SmallDisk(byteCount: 1 << 20)
        defer { disk.unmount() }
        let http = Self.images()
        let images = try loader(in: disk.url.appendingPathComponent("images"), http)
        #expect(try await images.data(for: chat("a")) == Self.bytes)
        try disk.fill()
        await images.discard(objectKeys: ["a.bin", "b.bin"])
        for name in ["a", "b"] { #expect(await bench.code { try await images.data(for: chat(name)) } == .noSuchObject) }
        #expect(await images.cachedBytes == 0)
        #expect(await http.sent.count == 1)
    }

    @Test func `a disk on which no folder can be made is no reason to show nothing`() async throws {
        let disk = try SmallDisk(byteCount: 1 << 20, maximumFiles: 2)
        defer { disk.unmount() }
        try disk.fill()
        let http = Self.images()
        let folder = disk.url.appendingPathComponent("images")
        let images = try loader(in: folder, http)
        #expect(try await images.data(for: chat("a")) == Self.bytes)
        #expect(await bench.code { try await images.file(for: chat("a")) } == .diskFull)
        await images.discard(objectKeys: ["a.bin"])
        #expect(await bench.code { try await images.data(for: chat("a")) } == .noSuchObject)
        await images.removeAll()
        #expect(try await images.data(for: chat("b")) == Self.bytes)
        try disk.empty()
        try disk.allow(files: 100)
        #expect(try await Data(contentsOf: images.file(for: chat("b"))) == Self.bytes)
        #expect(try await loader(in: folder, http).cachedBytes == 100_000)
    }
}
