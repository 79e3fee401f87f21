public import Foundation

/// Where photos come from: a folder, the photo library of an Apple device, or an app's own.
public protocol PhotoSource: Sendable {
    /// What is to be stored of this source, or what is new and changed in it.
    ///
    /// - Parameter token: of an earlier call, whose photos are all stored by now; `nil` for everything, also when the token
    ///   is of no use any more.
    func changes(since token: Data?) async throws -> PhotoChanges

    /// The bytes of one photo, as they are. It ends soon when its task is cancelled, and with an error when it makes no progress:
    /// the run waits for it.
    ///
    /// - Parameters:
    ///   - photo: of ``changes(since:)``.
    ///   - folder: for a file that has to be made: the caller removes it.
    /// - Returns: a file of that folder, or one of the source's own, which stays as it is.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/noSuchObject`` when the photo was deleted meanwhile; after
    ///   ``CloakroomError/Code/diskFull`` once more, when the files that wait in the folder are stored. The next photo is
    ///   exported after most others, too; several in a row end the run, and after 64 all others do.
    func file(of photo: SourcePhoto, in folder: URL) async throws -> URL
}

/// A file's worth of bytes in a source: a Live Photo has two, and an edited photo may have more.
public struct SourcePhoto: Sendable, Hashable {
    /// Its name in the source, the same at each launch.
    public var id: String
    /// Changes whenever its bytes do.
    public var version: String
    /// Such as `IMG_0042.HEIC`.
    public var fileName: String

    public init(id: String, version: String, fileName: String) {
        self.id = id
        self.version = version
        self.fileName = fileName
    }
}

/// Photos of a source, and what to ask with for later ones.
public struct PhotoChanges: Sendable {
    /// Each is made when it is asked for, so that a library of 100,000 is never in memory.
    public var photos: AsyncThrowingStream<SourcePhoto, any Error>
    /// For the next call, once all of these are stored; `nil` where the source cannot tell later ones from all.
    public var token: Data?
    /// What the source says of a photo of an earlier call that could not be stored: which ones take its place, none for one that
    /// was deleted; `nil` where it is to be attempted again. A later call may not say it again.
    var replacements: @Sendable (SourcePhoto) async throws -> [SourcePhoto]? = { _ in nil }

    public init(photos: AsyncThrowingStream<SourcePhoto, any Error>, token: Data?) {
        self.photos = photos
        self.token = token
    }

    public init(_ photos: [SourcePhoto], token: Data? = nil) {
        self.init(photos, token: token) { $0 }
    }

    /// - Parameter photo: made of each when it is asked for.
    init<Item: Sendable>(
        _ items: [Item], token: Data?, photo: @escaping @Sendable (Item) async throws -> SourcePhoto
    ) {
        let rest = Rest(items)
        let photos = AsyncThrowingStream {
            guard let item = await rest.next() else { return SourcePhoto?.none }
            return try await photo(item)
        }
        self.init(photos: photos, token: token)
    }

    private actor Rest<Item: Sendable> {
        private var items: ArraySlice<Item>

        init(_ items: [Item]) { self.items = items[...] }

        func next() -> Item? { items.popFirst() }
    }
}
