/// Which assets a library has, as one run sees it.
///
/// A library that cannot be read looks empty. So an asset that is not found was deleted where
///
/// - the library's history says so, or
/// - the library lists others and not this one, with the access that the run began with.
///
/// An empty listing alone says nothing: where the user has deleted all photos, the history says it.
actor LibraryListing {
    nonisolated let access: PhotoLibraryAccess
    private let library: any PhotoLibraryReader
    /// By the library's history.
    private let deleted: Set<String>
    private var assets: Set<String>?
    /// How many assets were in it and were not found.
    private var unreadCount = 0
    private static let unreadPerListing = 64

    init(of library: any PhotoLibraryReader, _ access: PhotoLibraryAccess, deleted: Set<String> = []) {
        self.library = library
        self.access = access
        self.deleted = deleted
    }

    /// A library that may not be read any more has no photos, and that is not all that is to be stored.
    func checkAccess() async throws {
        guard try await library.access() == access else {
            throw CloakroomError(.photosNotAllowed, "the access to photos changed while they were read")
        }
    }

    /// - Parameter id: of an asset that was named before, and is not found.
    /// - Returns: `false` where it cannot be read now.
    /// - Throws: when that cannot be said of any asset now.
    func isDeleted(_ id: String) async throws -> Bool {
        try await checkAccess()
        if deleted.contains(id) { return true }
        if let assets {
            guard assets.contains(id) else { return true }
            // Some may have been deleted since: the others are failures until the next run.
            unreadCount += 1
            guard unreadCount.isMultiple(of: Self.unreadPerListing) else { return false }
        }
        let listed = Set(try await library.allAssets())
        guard !listed.isEmpty else { throw CloakroomError.unreadableLibrary }
        try await checkAccess()
        assets = listed
        return !listed.contains(id)
    }

    /// Whether the history says it and the asset is not found.
    func isDeletedByHistory(_ id: String) async throws -> Bool {
        guard deleted.contains(id) else { return false }
        return try await library.asset(id) == nil
    }
}
