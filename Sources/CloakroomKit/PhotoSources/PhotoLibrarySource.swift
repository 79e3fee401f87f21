public import Foundation

/// The photo library of an Apple device, with the user's permission.
///
/// A Live Photo is two files, a photo and a film. Originals that are only in iCloud are downloaded as they are backed up. Under
/// limited access, it is what the user has selected. When the user allows more, or the app's selection is another one, all of it
/// is named once more.
///
/// A photo that is not found was deleted where the library's history says so, or where the library lists others and not this
/// one. A library that looks empty, and says nothing of deleted photos, cannot be read now. Under limited access, what is not
/// found is not taken for deleted: the user may have selected other photos.
public struct PhotoLibrarySource: PhotoSource {
    private let library: any PhotoLibraryReader
    private let selection: PhotoSelection
    /// Of the last call for changes.
    private let listing = Locked<LibraryListing?>(nil)

    init(_ library: any PhotoLibraryReader, selection: PhotoSelection) {
        self.library = library
        self.selection = selection
    }

    /// An asset that cannot be read is named itself; its files take its place once it can be read.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/photosNotAllowed`` without the user's permission, which the app asks
    ///   for; ``CloakroomError/Code/unreadableFile`` while the library is not available.
    public func changes(since token: Data?) async throws -> PhotoChanges {
        let access = try await allowedAccess()
        // Before the library is read: what is added meanwhile is among the next changes.
        let next = Token(access: access, selection: selection, library: try await library.token())
        var changes: LibraryChanges?
        // What was just selected, by the user or by the app, is no change of the library.
        if let token = token.flatMap({ try? JSONDecoder().decode(Token.self, from: $0) }), access == .all,
            token.access == .all, token.selection == selection
        {
            changes = try await library.changes(since: token.library)
        }
        let assets: [String]
        if let changes { assets = changes.changed.sorted() } else { assets = try await library.allAssets() }
        let listing = LibraryListing(of: library, access, deleted: changes?.deleted ?? [])
        self.listing.withLock { $0 = listing }
        let files = AssetFiles(of: assets, in: library, selection, listing)
        // A library that cannot be read looks empty. One that is costs nothing to be named once more.
        let isNamedAgain = changes == nil && assets.isEmpty
        var named = PhotoChanges(
            photos: AsyncThrowingStream { try await files.next() },
            token: isNamedAgain ? nil : try JSONEncoder().encode(next))
        named.replacements = { photo in
            switch Self.name(of: photo) {
            case .file(_, of: let asset): return try await listing.isDeletedByHistory(asset) ? [] : nil
            case .asset(let id):
                if let asset = try await library.asset(id) { return selection.photos(of: asset) }
                return try await listing.isDeletedByHistory(id) ? [] : nil
            case nil: return nil
            }
        }
        return named
    }

    /// Up to where the library was read, and what of it.
    private struct Token: Codable {
        var access: PhotoLibraryAccess
        var selection: PhotoSelection
        /// Of the library itself.
        var library: Data
    }

    public func file(of photo: SourcePhoto, in folder: URL) async throws -> URL {
        let (asset, kind): (String, LibraryAsset.Kind)
        switch Self.name(of: photo) {
        case .file(let named, of: let id): (asset, kind) = (id, named)
        case .asset(let id):
            guard try await lastListing().isDeleted(id) else { throw CloakroomError.unreadableLibrary }
            // It is named again when the user selects it again.
            throw Self.gone(photo)
        case nil: throw CloakroomError(.invalidRequest, "\(photo.id) is not a photo of this library")
        }
        guard let found = try await library.asset(asset) else { throw try await missing(photo, asset) }
        guard let file = selection.photos(of: found).first(where: { $0.id == photo.id }) else {
            throw CloakroomError(.noSuchObject, "\(photo.fileName) is not in the library any more, or is left out")
        }
        let ending = URL(fileURLWithPath: file.fileName).pathExtension
        let url = folder.appendingPathComponent(UUID().uuidString).appendingPathExtension(ending)
        try await library.write(kind, of: asset, to: url)
        return url
    }

    /// Why an asset is not found.
    private func missing(_ photo: SourcePhoto, _ asset: String) async throws -> CloakroomError {
        let listing = try await lastListing()
        guard try await listing.isDeleted(asset) else { return .unreadableLibrary }
        guard listing.access == .all else {
            return CloakroomError(.unreadableFile, "\(photo.fileName) is not among what the user has selected")
        }
        return Self.gone(photo)
    }

    private static func gone(_ photo: SourcePhoto) -> CloakroomError {
        CloakroomError(.noSuchObject, "\(photo.fileName) is not in the library any more")
    }

    private func lastListing() async throws -> LibraryListing {
        if let last = listing.withLock({ $0 }) { return last }
        return LibraryListing(of: library, try await allowedAccess())
    }

    private func allowedAccess() async throws -> PhotoLibraryAccess {
        let access = try await library.access()
        guard access != .none else {
            throw CloakroomError(
                .photosNotAllowed,
                "the user has not allowed access to photos: ask with PHPhotoLibrary.requestAuthorization")
        }
        return access
    }

    private enum Name {
        case file(LibraryAsset.Kind, of: String)
        /// One that could not be read.
        case asset(String)
    }

    private static func name(of photo: SourcePhoto) -> Name? {
        guard let mark = photo.id.lastIndex(of: "#") else { return .asset(photo.id) }
        let kind = LibraryAsset.Kind(rawValue: String(photo.id[photo.id.index(after: mark)...]))
        return kind.map { .file($0, of: String(photo.id[..<mark])) }
    }

    /// The files of many assets, one asset after the other.
    private actor AssetFiles {
        private var assets: ArraySlice<String>
        private var files: ArraySlice<SourcePhoto> = []
        private let library: any PhotoLibraryReader
        private let selection: PhotoSelection
        private let listing: LibraryListing

        init(
            of assets: [String], in library: any PhotoLibraryReader, _ selection: PhotoSelection,
            _ listing: LibraryListing
        ) {
            self.assets = assets[...]
            self.library = library
            self.selection = selection
            self.listing = listing
        }

        func next() async throws -> SourcePhoto? {
            while true {
                if let file = files.popFirst() { return file }
                guard let id = assets.popFirst() else {
                    try await listing.checkAccess()
                    return nil
                }
                if let asset = try await library.asset(id) {
                    files = selection.photos(of: asset)[...]
                } else if try await !listing.isDeleted(id) {
                    return SourcePhoto(id: id, version: "unread", fileName: id)
                }
            }
        }
    }
}
