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

    private func asset(_ id: String, _ kinds: LibraryAsset.Kind...) -> LibraryAsset {
        LibraryAsset(
            id: id, modified: Date(timeIntervalSince1970: 100),
            files: kinds.map { .init(kind: $0, name: "\(id).\($0 == .photo ? "HEIC" : "MOV")") })
    }

    @Test func `a Live Photo is two files`() async throws {
        await library.set([asset("a", .photo, .pairedVideo), asset("b", .video)])
        #expect(try await names() == ["a#photo", "a#pairedVideo", "b#video"])
    }

    @Test(arguments: [PhotoLibraryAccess.none, .limited])
    func `photos that are missing because the access changed are no end of the changes`(
        access: PhotoLibraryAccess
    ) async throws {
        await library.set([asset("a", .photo), asset("b", .photo)])
        let changes = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil)
        await library.set([], access: access)
        let error = await #expect(throws: CloakroomError.self) { for try await _ in changes.photos {} }
        #expect(error?.code == .photosNotAllowed)
    }

    @Test func `a changed photo that was deleted meanwhile is left out, and one that cannot be read is not`()
        async throws
    {
        await library.set([asset("a", .photo), asset("b", .photo)])
        let token = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil).token
        for id in ["a", "b"] { await library.change(id) }
        await library.set([asset("b", .photo)])
        #expect(try await names(since: token) == ["b#photo"])
        await library.hide("b")
        await #expect(throws: CloakroomError.unreadableLibrary) { try await names(since: token) }
    }

    @Test func `edits are files of their own, unless originals are enough`() async throws {
        await library.set([asset("a", .photo, .editedPhoto, .adjustments)])
        #expect(try await names() == ["a#photo", "a#editedPhoto", "a#adjustments"])
        #expect(try await names(PhotoSelection(edits: .originals)) == ["a#photo"])
    }

    private func names(_ selection: PhotoSelection) async throws -> [String] { try await names(since: nil, selection) }

    @Test func `an edit changes the version of what was edited alone`() async throws {
        let before = asset("a", .photo, .editedPhoto)
        var after = before
        after.modified = Date(timeIntervalSince1970: 200)
        let (first, second) = (PhotoSelection().photos(of: before), PhotoSelection().photos(of: after))
        #expect(first[0] == second[0])
        #expect(first[1] != second[1])
    }

    @Test func `screenshots and films are left out where the app says so`() async throws {
        var screenshot = asset("s", .photo)
        screenshot.isScreenshot = true
        var film = asset("f", .video)
        film.isVideo = true
        await library.set([asset("a", .photo, .pairedVideo), screenshot, film])
        #expect(try await names().count == 4)
        #expect(
            try await names(PhotoSelection(includesScreenshots: false, includesVideos: false)) == [
                "a#photo", "a#pairedVideo",
            ])
    }

    @Test func `all frames of a burst are included, and what is hidden is not, unless the app says so`() async throws {
        var frame = asset("f", .photo)
        frame.isFurtherBurstFrame = true
        var hidden = asset("h", .photo)
        hidden.isHidden = true
        await library.set([asset("a", .photo), frame, hidden])
        #expect(try await names() == ["a#photo", "f#photo"])
        #expect(try await names(PhotoSelection(includesBursts: false)) == ["a#photo"])
        #expect(try await names(PhotoSelection(includesHidden: true)) == ["a#photo", "f#photo", "h#photo"])
    }

    @Test func `later calls are for what has changed`() async throws {
        await library.set([asset("a", .photo), asset("b", .photo)])
        let token = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil).token
        await library.change("b")
        #expect(try await names(since: token) == ["b#photo"])
    }

    @Test func `a token that has expired leads to everything`() async throws {
        await library.set([asset("a", .photo), asset("b", .photo)])
        #expect(try await names(since: Data("of long ago".utf8)) == ["a#photo", "b#photo"])
    }

    @Test func `under limited access the selection is looked at each time`() async throws {
        await library.set([asset("a", .photo), asset("b", .photo)], access: .limited)
        let token = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil).token
        #expect(try await names(since: token) == ["a#photo", "b#photo"])
    }

    @Test func `what becomes visible by more access is named, although the library has not changed`() async throws {
        await library.set([asset("a", .photo)], access: .limited)
        let token = try await PhotoLibrarySource(library, selection: PhotoSelection()).changes(since: nil).token
        await library.set([asset("a", .photo), asset("b", .photo)])
        #expect(try await names(since: token) == ["a#photo", "b#photo"])
    }

    @Test func `what a wider selection adds is named, although the library has not changed`() async throws {
        var film = asset("f", .video)
        film.isVideo = true
        await library.set([asset("a", .photo), film])
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
        await library.set([asset("a", .photo)])
        let source = PhotoLibrarySource(library, selection: PhotoSelection())
        let folder = try TemporaryFolder()
        let photo = SourcePhoto(id: "a#photo", version: "original", fileName: "a.HEIC")
        let file = try await source.file(of: photo, in: folder.url)
        #expect(file.pathExtension == "HEIC")
        #expect(try String(contentsOf: file, encoding: .utf8) == "photo of a")
        for (assets, code) in [
            ([asset("b", .photo)], CloakroomError.Code.noSuchObject),
            // As it looks, too, while it cannot be read.
            ([], .unreadableFile),
        ] {
            await library.set(assets)
            let error = await #expect(throws: CloakroomError.self) { try await source.file(of: photo, in: folder.url) }
            #expect(error?.code == code)
        }
    }
}

private actor FakeLibrary: PhotoLibraryReader {
    private var assets: [LibraryAsset] = []
    private var changed: [String] = []
    private var hidden: String?
    private var currentAccess = PhotoLibraryAccess.all

    func set(_ assets: [LibraryAsset], access: PhotoLibraryAccess = .all) {
        self.assets = assets
        currentAccess = access
    }

    func change(_ id: String) { changed.append(id) }
    /// It is listed, and not found.
    func hide(_ id: String) { hidden = id }

    func access() -> PhotoLibraryAccess { currentAccess }
    func token() -> Data { Data("\(changed.count)".utf8) }

    func changedAssets(since token: Data) -> [String]? {
        Int(String(decoding: token, as: UTF8.self)).map { Array(changed.dropFirst($0)) }
    }

    func allAssets() -> [String] { assets.map(\.id) }
    func asset(_ id: String) -> LibraryAsset? { assets.first { $0.id == id && id != hidden } }

    func write(_ kind: LibraryAsset.Kind, of id: String, to file: URL) throws {
        try Data("\(kind) of \(id)".utf8).write(to: file)
    }
}
