public import Foundation

/// The photo library of an Apple device, with the user's permission.
///
/// A Live Photo is two files, a photo and a film. Originals that are only in iCloud are downloaded as they are backed up. Under
/// limited access, it is what the user has selected. When the user allows more, or the app's selection is another one, all of it
/// is named once more.
public struct PhotoLibrarySource: PhotoSource {
    private let library: any PhotoLibraryReader
    private let selection: PhotoSelection

    init(_ library: any PhotoLibraryReader, selection: PhotoSelection) {
        self.library = library
        self.selection = selection
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/photosNotAllowed`` without the user's permission, which the app asks
    ///   for; ``CloakroomError/Code/unreadableFile`` while the library is not available.
    public func changes(since token: Data?) async throws -> PhotoChanges {
        let access = try await library.access()
        guard access != .none else { throw Self.notAllowed }
        // Before the library is read: what is added meanwhile is among the next changes.
        let next = Token(access: access, selection: selection, library: try await library.token())
        var changed: [String]?
        // What was just selected, by the user or by the app, is no change of the library.
        if let token = token.flatMap({ try? JSONDecoder().decode(Token.self, from: $0) }), access == .all,
            token.access == .all, token.selection == selection
        {
            changed = try await library.changedAssets(since: token.library)
        }
        let assets: [String]
        if let changed { assets = changed } else { assets = try await library.allAssets() }
        let files = AssetFiles(of: assets, in: library, selection, access)
        // A library that cannot be read looks empty. One that is costs nothing to be named once more.
        let isNamedAgain = changed == nil && assets.isEmpty
        return PhotoChanges(
            photos: AsyncThrowingStream { try await files.next() },
            token: isNamedAgain ? nil : try JSONEncoder().encode(next))
    }

    /// Up to where the library was read, and what of it.
    private struct Token: Codable {
        var access: PhotoLibraryAccess
        var selection: PhotoSelection
        /// Of the library itself.
        var library: Data
    }

    public func file(of photo: SourcePhoto, in folder: URL) async throws -> URL {
        let parts = photo.id.split(separator: "#")
        guard parts.count == 2, let kind = LibraryAsset.Kind(rawValue: String(parts[1])) else {
            throw CloakroomError(.invalidRequest, "\(photo.id) is not a photo of this library")
        }
        let asset = String(parts[0])
        let found = try await library.asset(asset)
        if found == nil {
            guard try await library.access() != .none else { throw Self.notAllowed }
            if try await library.listing().contains(asset) { throw CloakroomError.unreadableLibrary }
        }
        guard let found, found.files.contains(where: { $0.kind == kind }) else {
            throw CloakroomError(.noSuchObject, "\(photo.fileName) is not in the library any more")
        }
        let ending = URL(fileURLWithPath: photo.fileName).pathExtension
        let file = folder.appendingPathComponent(UUID().uuidString).appendingPathExtension(ending)
        try await library.write(kind, of: asset, to: file)
        return file
    }

    private static let notAllowed = CloakroomError(
        .photosNotAllowed, "the user has not allowed access to photos: ask with PHPhotoLibrary.requestAuthorization")

    /// The files of many assets, one asset after the other.
    private actor AssetFiles {
        private var assets: ArraySlice<String>
        private var files: ArraySlice<SourcePhoto> = []
        private let library: any PhotoLibraryReader
        private let selection: PhotoSelection
        private let access: PhotoLibraryAccess
        /// What the library had when an asset was not found.
        private var listing: Set<String>?

        /// - Parameter access: with which the assets were listed.
        init(
            of assets: [String], in library: any PhotoLibraryReader, _ selection: PhotoSelection,
            _ access: PhotoLibraryAccess
        ) {
            self.access = access
            self.assets = assets[...]
            self.library = library
            self.selection = selection
        }

        func next() async throws -> SourcePhoto? {
            while true {
                if let file = files.popFirst() { return file }
                guard let id = assets.popFirst() else {
                    try await checkAccess()
                    return nil
                }
                guard let asset = try await library.asset(id) else {
                    try await checkDeleted(id)
                    continue
                }
                files = selection.photos(of: asset)[...]
            }
        }

        /// A library that may not be read any more has no photos, and that is not all that is to be stored.
        private func checkAccess() async throws {
            guard try await library.access() == access else {
                throw CloakroomError(.photosNotAllowed, "the access to photos changed while they were read")
            }
        }

        /// An asset that was deleted meanwhile is left out; one that cannot be read now is not.
        private func checkDeleted(_ id: String) async throws {
            try await checkAccess()
            if listing?.contains(id) == false { return }
            let listing = try await library.listing()
            if listing.contains(id) { throw CloakroomError.unreadableLibrary }
            self.listing = listing
        }
    }
}

/// What ``PhotoLibrarySource`` needs of a library.
protocol PhotoLibraryReader: Sendable {
    /// - Throws: ``CloakroomError/Code/unreadableFile`` while the library is not available.
    func access() async throws -> PhotoLibraryAccess
    /// For the changes from now on.
    func token() async throws -> Data
    /// - Returns: identifiers of assets that were added or changed, and not deleted; `nil` when that is not known any more.
    func changedAssets(since token: Data) async throws -> [String]?
    func allAssets() async throws -> [String]
    /// - Returns: `nil` when there is none any more, and when the library cannot be read now: fetches of PhotoKit have no errors.
    func asset(_ id: String) async throws -> LibraryAsset?
    /// Writes a file of an asset, downloading it when it is only in iCloud.
    func write(_ kind: LibraryAsset.Kind, of id: String, to file: URL) async throws
}

extension PhotoLibraryReader {
    /// All assets of a library that can be read.
    fileprivate func listing() async throws -> Set<String> {
        let assets = try await allAssets()
        guard !assets.isEmpty else { throw CloakroomError.unreadableLibrary }
        return Set(assets)
    }
}

extension CloakroomError {
    static let unreadableLibrary = CloakroomError(.unreadableFile, "the photo library cannot be read now")
}

enum PhotoLibraryAccess: String, Sendable, Codable {
    case all
    /// What the user has selected.
    case limited
    case none
}
