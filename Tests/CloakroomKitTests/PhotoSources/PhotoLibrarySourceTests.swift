import Foundation
import Testing

@testable import CloakroomKit

@Suite struct PhotoLibrarySourceTests {
    private let library = FakeLibrary()

    private func names(
        since token: Data? = nil, _ selection: PhotoSelection = PhotoSelection()
    ) async throws -> [String] {
        let changes = try await PhotoLibrarySource(library, selection: selection).changes(since: token)
        return try await changes.photos.reduce(into: []) { $0.append($1.id) }
    }

    @Test func `a Live Photo is two files`() async throws {
        await library.set([.named("a", .photo, .pairedVideo), .named("b", .video)])
        #expect(try await names() == ["a#photo", "a#pairedVideo", "b#video"])
    }

    @Test(arguments: [PhotoLibraryAccess.none, .limited])
    func `photos that are missing because the access changed are no end of the changes`(
        access: PhotoLibraryAccess
    ) async throws {
        await library.set([.named("a", .photo), .named("b", .photo)])
        let changes = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil)
        await library.set([], access: access)
        let error = await #expect(throws: CloakroomError.self) { for try await _ in changes.photos {} }
        #expect(error?.code == .photosNotAllowed)
    }

    @Test func `a changed photo that was deleted meanwhile is left out`() async throws {
        await library.set([.named("a", .photo), .named("b", .photo)])
        let token = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil).token
        for id in ["a", "b"] { await library.change(id) }
        await library.set([.named("b", .photo)])
        #expect(try await names(since: token) == ["b#photo"])
    }

    @Test func `a photo that is deleted and recovered between two runs is named`() async throws {
        await library.set([.named("b", .photo)])
        let token = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil).token
        await library.change("a")
        await library.delete("a")
        await library.set([.named("a", .photo), .named("b", .photo)])
        await library.change("a")
        #expect(try await names(since: token) == ["a#photo"])
    }

    @Test func `the only photo is left out when it is added and deleted between two runs`() async throws {
        await library.set([.named("a", .photo)])
        let token = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil).token
        await library.change("b")
        for id in ["a", "b"] { await library.delete(id) }
        #expect(try await names(since: token) == [])
    }

    @Test func `an asset of which the system names no file is one that it has not read`() {
        #expect(LibraryAsset.files(of: []) == nil)
        #expect(LibraryAsset.files(of: [(nil, "thumbnail")]) == [])
        #expect(LibraryAsset.files(of: [(.photo, "a.HEIC"), (nil, "t")]) == [.init(kind: .photo, name: "a.HEIC")])
    }

    @Test func `edits are files of their own, unless originals are enough`() async throws {
        await library.set([.named("a", .photo, .editedPhoto, .adjustments)])
        #expect(try await names() == ["a#photo", "a#editedPhoto", "a#adjustments"])
        #expect(try await names(PhotoSelection(edits: .originals)) == ["a#photo"])
    }

    private func names(_ selection: PhotoSelection) async throws -> [String] { try await names(since: nil, selection) }

    @Test func `an edit changes the version of what was edited alone`() async throws {
        let before = LibraryAsset.named("a", .photo, .editedPhoto)
        var after = before
        after.modified = Date(timeIntervalSince1970: 200)
        let (first, second) = (PhotoSelection().photos(of: before), PhotoSelection().photos(of: after))
        #expect(first[0] == second[0])
        #expect(first[1] != second[1])
    }

    @Test func `screenshots and films are left out where the app says so`() async throws {
        var screenshot = LibraryAsset.named("s", .photo)
        screenshot.isScreenshot = true
        var film = LibraryAsset.named("f", .video)
        film.isVideo = true
        await library.set([.named("a", .photo, .pairedVideo), screenshot, film])
        #expect(try await names().count == 4)
        #expect(
            try await names(PhotoSelection(includesScreenshots: false, includesVideos: false)) == [
                "a#photo", "a#pairedVideo",
            ])
    }

    @Test func `all frames of a burst are included, and what is hidden is not, unless the app says so`() async throws {
        var frame = LibraryAsset.named("f", .photo)
        frame.isFurtherBurstFrame = true
        var hidden = LibraryAsset.named("h", .photo)
        hidden.isHidden = true
        await library.set([.named("a", .photo), frame, hidden])
        #expect(try await names() == ["a#photo", "f#photo"])
        #expect(try await names(PhotoSelection(includesBursts: false)) == ["a#photo"])
        #expect(try await names(PhotoSelection(includesHidden: true)) == ["a#photo", "f#photo", "h#photo"])
    }

    @Test func `later calls are for what has changed`() async throws {
        await library.set([.named("a", .photo), .named("b", .photo)])
        let token = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil).token
        await library.change("b")
        #expect(try await names(since: token) == ["b#photo"])
    }

    @Test func `a token that has expired leads to everything`() async throws {
        await library.set([.named("a", .photo), .named("b", .photo)])
        #expect(try await names(since: Data("of long ago".utf8)) == ["a#photo", "b#photo"])
    }

    @Test func `under limited access the selection is looked at each time`() async throws {
        await library.set([.named("a", .photo), .named("b", .photo)], access: .limited)
        let token = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil).token
        #expect(try await names(since: token) == ["a#photo", "b#photo"])
    }

    @Test func `what becomes visible by more access is named, although the library has not changed`() async throws {
        await library.set([.named("a", .photo)], access: .limited)
        let token = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil).token
        await library.set([.named("a", .photo), .named("b", .photo)])
        #expect(try await names(since: token) == ["a#photo", "b#photo"])
    }

    @Test func `what a wider selection adds is named, although the library has not changed`() async throws {
        var film = LibraryAsset.named("f", .video)
        film.isVideo = true
        await library.set([.named("a", .photo), film])
        let narrow = PhotoSelection(includesVideos: false)
        let token = try await PhotoLibrarySource(library, selection: narrow).changes(since: nil).token
        #expect(try await names(since: token, narrow) == [])
        #expect(try await names(since: token) == ["a#photo", "f#video"])
    }

    @Test func `without permission it says so, and the user is sent to the settings`() async throws {
        await library.set([], access: .none)
        let error = try #require(await #expect(throws: CloakroomError.self) { try await names() })
        #expect(error.code == .photosNotAllowed)
        #expect(ErrorText(of: error.code).suggestion == .allowPhotos)
    }

    @Test func `a photo that was deleted since it was named is gone`() async throws {
        await library.set([.named("a", .photo)])
        let source = PhotoLibrarySource(library, selection: PhotoSelection())
        let folder = try TemporaryFolder()
        let photo = SourcePhoto(id: "a#photo", version: "original", fileName: "a.HEIC")
        let file = try await source.file(of: photo, in: folder.url)
        #expect(file.pathExtension == "HEIC")
        #expect(try String(contentsOf: file, encoding: .utf8) == "photo of a")
        for (assets, code) in [
            ([LibraryAsset.named("b", .photo)], CloakroomError.Code.noSuchObject),
            // As it looks, too, while it cannot be read.
            ([], .unreadableFile),
        ] {
            await library.set(assets)
            let error = await #expect(throws: CloakroomError.self) { try await source.file(of: photo, in: folder.url) }
            #expect(error?.code == code)
        }
    }

    @Test func `a photo that is not among those the user has selected is not taken for deleted`() async throws {
        let source = PhotoLibrarySource(library, selection: PhotoSelection())
        let folder = try TemporaryFolder()
        let photo = SourcePhoto(id: "a#photo", version: "original", fileName: "a.HEIC")
        await library.set([.named("a", .photo), .named("b", .photo)])
        _ = try await source.changes(since: nil)
        await library.set([.named("b", .photo)], access: .limited)
        let changed = await #expect(throws: CloakroomError.self) { try await source.file(of: photo, in: folder.url) }
        #expect(changed?.code == .photosNotAllowed)
        _ = try await source.changes(since: nil)
        let limited = await #expect(throws: CloakroomError.self) { try await source.file(of: photo, in: folder.url) }
        #expect(limited?.code == .unreadableFile)
    }
}
