import CloakroomAWS
import Foundation
import Testing

@testable import CloakroomKit

/// An image that has ended by the worker's clock, on a device whose clock is then set back.
@Suite struct EndedImageTests {
    private let fake = FakeRuntime()
    private let folder: TemporaryFolder
    private let image: ImageSource

    init() throws {
        folder = try TemporaryFolder()
        image = .chatImage(
            link: "https://cdn.example/chat/a.bin", expiration: fake.wallTime.addingTimeInterval(3_600))
    }

    /// As after a launch.
    private func loader(_ clock: ServerClock? = nil) throws -> ImageLoader {
        try ImageLoader(
            folder: folder.url, owner: .test,
            transport: ScriptedHTTP { _, _ in .response(200, [], Data("image".utf8)) },
            baseURLs: try AssetBaseURLs([try #require(URL(string: "https://cdn.example"))]),
            serverClock: clock ?? ServerClock(runtime: fake.runtime), runtime: fake.runtime)
    }

    /// As the worker's responses say what time it is.
    private func knownClock() async -> ServerClock {
        let clock = ServerClock(runtime: fake.runtime)
        await clock.learn(
            from: HTTPResponse(status: 200, fields: [("Date", Timestamp(fake.wallTime).http)]), sent: fake.now)
        return clock
    }

    @Test(arguments: [true, false]) func `is not shown again after a launch`(wasCached: Bool) async throws {
        let images = try loader(await knownClock())
        if wasCached { _ = try await images.data(for: image) }
        fake.pass(.seconds(3_700))
        await #expect(throws: CloakroomError.self) { try await images.data(for: image) }
        fake.setWallClock(ahead: .seconds(-3_700))
        await #expect(throws: CloakroomError.self) { try await loader().data(for: image) }
    }

    @Test func `is not shown again where it had ended at a launch`() async throws {
        _ = try await loader().data(for: image)
        fake.pass(.seconds(3_700))
        let images = try loader(await knownClock())
        await #expect(throws: CloakroomError.self) { try await images.data(for: image) }
        fake.setWallClock(ahead: .seconds(-3_700))
        await #expect(throws: CloakroomError.self) { try await loader().data(for: image) }
    }

    @Test func `many ended images do not let a released one be shown again`() async throws {
        let images = try loader(await knownClock())
        await images.discard(objectKeys: ["chat/released.bin"])
        fake.pass(.seconds(1))
        for number in 0...10_000 {
            let ended = ImageSource.chatImage(
                link: "https://cdn.example/chat/\(number).bin", expiration: fake.wallTime.addingTimeInterval(-60))
            await #expect(throws: CloakroomError.self) { try await images.data(for: ended) }
        }
        let released = ImageSource.url(try #require(URL(string: "https://cdn.example/chat/released.bin")))
        await #expect(throws: CloakroomError.self) { try await images.data(for: released) }
        await #expect(throws: CloakroomError.self) { try await loader().data(for: released) }
    }

    @Test func `nothing is written once the user has signed out`() async throws {
        let images = try loader(await knownClock())
        await images.close()
        fake.pass(.seconds(3_700))
        await #expect(throws: CloakroomError.self) { try await images.data(for: image) }
        await images.discard(objectKeys: ["chat/b.bin"])
        let found = FileManager.default.enumerator(at: folder.url, includingPropertiesForKeys: nil)
        #expect((found?.allObjects as? [URL] ?? []).filter { !$0.hasDirectoryPath } == [])
    }
}
